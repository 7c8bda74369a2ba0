"""What each ONNX type computes, as tensor expressions."""
