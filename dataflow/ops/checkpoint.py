"""Ops that write variables to a checkpoint and read them back."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


def _lists(tensor_names: Tensor, shape_and_slices: Tensor, count: int) -> None:
    for name, tensor in (("tensor_names", tensor_names), ("shape_and_slices", shape_and_slices)):
        if tensor.dims is not None and len(tensor.dims) != 1:
            raise ValueError(f"{name} must be a vector of strings")
        if tensor.dims is not None and tensor.dims[0] not in (None, count):
            raise ValueError(f"{name} has {tensor.dims[0]} items, there are {count} tensors")


@define_op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: list(dtypes)",
    stateful=True,
)
def save_v2(
    prefix: Tensor, tensor_names: Tensor, shape_and_slices: Tensor, tensors: list[Tensor]
) -> list[Dims]:
    """Writes tensors to the checkpoint ``prefix``, in one step.

    Its files are ``prefix.safetensors`` or those of TensorFlow's format, as
    `tf.config.experimental.set_checkpoint_format` says in the process that runs the op.
    ``tensor_names[i]`` names ``tensors[i]``; ``shape_and_slices[i]`` is empty, or says which part
    of a partitioned variable it is: ``"10 4 0,5:0,4"`` for rows 0 to 4 of a ``[10, 4]``. No output.
    """
    _lists(tensor_names, shape_and_slices, len(tensors))
    return []


@define_op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: list(dtypes)",
    stateful=True,
)
def restore_v2(
    prefix: Tensor, tensor_names: Tensor, shape_and_slices: Tensor, *, dtypes: list[DType]
) -> list[Dims]:
    """Reads tensors, or parts of them, from the checkpoint ``prefix``.

    Reads ``prefix.safetensors``, or TensorFlow's ``prefix.index``. Shapes are known when it runs,
    those of parts now.
    """
    _lists(tensor_names, shape_and_slices, len(dtypes))
    specs = static_value(shape_and_slices)
    if specs is None:
        return [None] * len(dtypes)
    return [_slice_dims(spec) for spec in specs.reshape(-1).tolist()]


def _slice_dims(spec: Any) -> Dims:
    text = spec.decode() if isinstance(spec, bytes) else str(spec)
    if not text:
        return None
    full = [int(n) for n in text.split(" ")[:-1]]
    extents = text.split(" ")[-1].split(":")
    return tuple(
        size if extent == "-" else int(extent.split(",")[1])
        for size, extent in zip(full, extents, strict=True)
    )


sharded_filename = declare_op(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32 -> filename: string",
    "``basename-00000-of-00002``. Shape: scalar.",
)
sharded_filespec = declare_op(
    "ShardedFilespec",
    "basename: string, num_shards: int32 -> filename: string",
    "``basename-?????-of-00002``: a pattern for all shards. Shape: scalar.",
)
merge_v2_checkpoints = declare_op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string",
    "Puts the checkpoints of several shards together under one prefix. No output.",
    attrs="delete_old_dirs: bool = True, allow_missing_files: bool = False",
    later_attrs={"allow_missing_files": False},
    stateful=True,
)


not_differentiable(save_v2, restore_v2)
