"""Networks in integers: layers, maps, evaluation, and their form in ONNX."""
