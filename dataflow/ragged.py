"""`tf.ragged`: rows of different lengths. See `RaggedTensor`."""

from __future__ import annotations

from dataflow.namespaces import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
