"""Models of other libraries as ONNX models, and the check of such an export."""
