"""Reading ONNX files: bounded, counted, with functions and subgraphs made plain."""
