"""Operators of ONNX Runtime, each as the function of ONNX's own operators that defines it."""
