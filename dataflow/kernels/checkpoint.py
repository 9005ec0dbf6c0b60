"""Kernels of checkpoints; the files themselves are in `dataflow.train.checkpoint_reader`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.registry import kernel

_FILES = "it reads and writes files"


def _text(value: Any) -> str:
    item = np.asarray(value, object).reshape(-1)[0]
    return item.decode() if isinstance(item, bytes) else str(item)


def _texts(values: Any) -> list[str]:
    return [_text(v) for v in np.asarray(values, object).reshape(-1)]


def _scalar(text: str) -> Any:
    result = np.empty((), object)
    result[()] = text.encode()
    return result


@kernel("SaveV2", cpu_only=_FILES)
def save_v2_kernel(
    xp: Any, prefix: Any, tensor_names: Any, shape_and_slices: Any, tensors: list[Any]
) -> None:
    from dataflow.train.checkpoint_reader import write_checkpoint

    path = _text(prefix)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) and os.path.isdir(os.path.dirname(folder)):
        os.makedirs(folder, exist_ok=True)
    arrays = [np.asarray(t) for t in tensors]
    write_checkpoint(path, _texts(tensor_names), _texts(shape_and_slices), arrays)


@kernel("RestoreV2", cpu_only=_FILES)
def restore_v2_kernel(
    xp: Any, prefix: Any, tensor_names: Any, shape_and_slices: Any, *, dtypes: Any
) -> tuple[Any, ...]:
    from dataflow.train.checkpoint_reader import CheckpointReader

    reader = CheckpointReader(_text(prefix))
    names = _texts(tensor_names)
    arrays = reader.read(names, _texts(shape_and_slices))
    stored = reader.dtype_names()
    for name, dtype in zip(names, dtypes, strict=True):
        if stored[name] != dtype.name:
            raise InvalidArgumentError(
                None,
                None,
                f"tensor {name!r} is {stored[name]} in the checkpoint {_text(prefix)}, "
                f"needed is {dtype.name}",
            )
    return tuple(array if array.shape else array[()] for array in arrays)


@kernel("ShardedFilename", cpu_only=_FILES)
def sharded_filename_kernel(xp: Any, basename: Any, shard: Any, num_shards: Any) -> Any:
    return _scalar(f"{_text(basename)}-{int(shard):05d}-of-{int(num_shards):05d}")


@kernel("ShardedFilespec", cpu_only=_FILES)
def sharded_filespec_kernel(xp: Any, basename: Any, num_shards: Any) -> Any:
    return _scalar(f"{_text(basename)}-?????-of-{int(num_shards):05d}")


@kernel("MergeV2Checkpoints", cpu_only=_FILES)
def merge_v2_checkpoints_kernel(xp: Any, checkpoint_prefixes: Any, destination_prefix: Any) -> None:
    from dataflow.train.checkpoint_reader import merge_checkpoints

    merge_checkpoints(_texts(checkpoint_prefixes), _text(destination_prefix))
