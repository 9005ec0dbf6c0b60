"""Names of ``tensorflow.python.ops.sparse_ops`` for what `tf.sparse` has under others."""

from __future__ import annotations

from dataflow.ops.sparse import (
    sparse_concat as sparse_concat_v2,
    sparse_expand_dims as sparse_expand_dims,
    sparse_eye as sparse_eye,
)

__all__ = ["sparse_concat_v2", "sparse_expand_dims", "sparse_eye"]
