"""``tf.saved_model.utils`` (this project has no file of that name)."""

from dataflow.train.signatures import (
    build_tensor_info,
    build_tensor_info_from_op,
    get_tensor_from_tensor_info,
)

__all__ = ["build_tensor_info", "build_tensor_info_from_op", "get_tensor_from_tensor_info"]
