"""What the front end knows of ONNX values and nodes: types, shapes, and where elements lie."""
