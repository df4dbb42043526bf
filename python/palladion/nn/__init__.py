"""Networks, one folder for each phase of a model's way.

``convert`` exports models of other libraries to ONNX. ``importer`` reads ONNX into a graph of
``floats``, which ``training`` may adapt. ``quantisation`` makes a network of ``integers`` of it.
``ends`` is the client's part of a network, ``datasets`` its inputs, and ``quality`` says how good
it is.
"""
