"""Kernels of checkpoints; the files themselves are in `dataflow.formats.checkpoint_reader`."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.formats.local_paths import local_path
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.parallel import run_pieces
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text, texts

_FILES = "it reads and writes files"


def _scalar(text: str) -> Any:
    result = np.empty((), object)
    result[()] = text.encode()
    return result


@kernel("SaveV2", cpu_only=_FILES, any_dtype=True)
def save_v2_kernel(
    xp: Module, prefix: Array, tensor_names: Array, shape_and_slices: Array, tensors: list[Any]
) -> None:
    from dataflow.formats.checkpoint_writer import write_checkpoint

    path = local_path(text(prefix))
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) and os.path.isdir(os.path.dirname(folder)):
        os.makedirs(folder, exist_ok=True)
    arrays = [np.asarray(t) for t in tensors]
    write_checkpoint(path, texts(tensor_names), texts(shape_and_slices), arrays)


@kernel("RestoreV2", cpu_only=_FILES, any_dtype=True)
def restore_v2_kernel(
    xp: Module, prefix: Array, tensor_names: Array, shape_and_slices: Array, *, dtypes: Any
) -> tuple[Any, ...]:
    from dataflow.formats.checkpoint_reader import CheckpointReader

    reader = CheckpointReader(text(prefix))
    names = texts(tensor_names)
    arrays = _read(reader, names, texts(shape_and_slices))
    stored = reader.dtype_names()
    for name, dtype in zip(names, dtypes, strict=True):
        if stored[name] != dtype.name:
            raise InvalidArgumentError(
                None,
                None,
                f"tensor {name!r} is {stored[name]} in the checkpoint {text(prefix)}, "
                f"expected {dtype.name}",
            )
    # Those of bfloat16 come as float32.
    arrays = [a.astype(d.numpy, copy=False) for a, d in zip(arrays, dtypes, strict=True)]
    # A text stays an array: `bytes` have no shape.
    return tuple(a if a.shape or a.dtype == object else a[()] for a in arrays)


#: Tensors of so many elements are read, and their CRCs computed, by several threads.
_SHARED_ELEMENTS = 1 << 18


def _read(reader: Any, names: list[str], specs: list[str]) -> list[Any]:
    """`reader.read`, the large tensors each in a part of its own."""
    if not all(map(reader.has_tensor, names)):
        return reader.read(names, specs)  # type: ignore[no-any-return]  # it says which are not
    shapes = reader.get_variable_to_shape_map()
    sizes = [math.prod(shapes[name]) for name in names]
    small = [i for i, size in enumerate(sizes) if size < _SHARED_ELEMENTS]
    large = [[i] for i, size in enumerate(sizes) if size >= _SHARED_ELEMENTS]
    found: dict[int, Any] = {}

    def read(share: list[int]) -> None:
        arrays = reader.read([names[i] for i in share], [specs[i] for i in share])
        found.update(zip(share, arrays, strict=True))

    run_pieces([*large, small] if small else large, lambda: read)
    return [found[i] for i in range(len(names))]


@kernel("ShardedFilename", cpu_only=_FILES)
def sharded_filename_kernel(xp: Module, basename: Array, shard: Array, num_shards: Array) -> Any:
    return _scalar(f"{text(basename)}-{int(shard):05d}-of-{int(num_shards):05d}")


@kernel("ShardedFilespec", cpu_only=_FILES)
def sharded_filespec_kernel(xp: Module, basename: Array, num_shards: Array) -> Any:
    return _scalar(f"{text(basename)}-?????-of-{int(num_shards):05d}")


@kernel("MergeV2Checkpoints", cpu_only=_FILES)
def merge_v2_checkpoints_kernel(
    xp: Module,
    checkpoint_prefixes: Array,
    destination_prefix: Array,
    *,
    delete_old_dirs: bool = True,
    allow_missing_files: bool = False,
) -> None:
    from dataflow.formats.checkpoint_writer import merge_checkpoints

    merge_checkpoints(
        texts(checkpoint_prefixes), text(destination_prefix), delete_old_dirs, allow_missing_files
    )
