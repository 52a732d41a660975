"""Fitted models as ONNX graphs: one graph function for each estimator, registered with skl2onnx.

`onnx` and `skl2onnx` are imported when a model is converted. All arithmetic of a graph is float64, whatever
the type of its input, so that it decides as `predict` does.
"""

from separatrix.onnx.registration import register_converters

__all__ = ["register_converters"]
