"""Plans run with real numbers, and what ONNX Runtime makes of the same model."""
