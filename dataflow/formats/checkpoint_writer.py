"""Checkpoints written, in the format that this process was told to write: ours, or TensorFlow's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from dataflow.errors import InvalidArgumentError
from dataflow.formats.bundle_writer import Slices, merge_bundles, write_bundle
from dataflow.formats.checkpoint_reader import (
    CheckpointReader,
    Part,
    Path,
    arrays_path,
    bundle_files,
    checkpoint_files,
    joined_parts,
)
from dataflow.formats.local_paths import local_path
from dataflow.formats.ordered_code import Extent
from dataflow.formats.safetensors_store import write_arrays
from dataflow.formats.tensor_bundle import is_tensor_bundle

SAFETENSORS, TENSORFLOW = "safetensors", "tensorflow"

_format = SAFETENSORS


def checkpoint_format() -> str:
    """The format in which this process writes checkpoints: "safetensors" or "tensorflow"."""
    return _format


def set_checkpoint_format(name: str) -> None:
    """From now on this process writes checkpoints so; raises `ValueError` for another name."""
    global _format
    if name not in (SAFETENSORS, TENSORFLOW):
        raise ValueError(
            f"A checkpoint's format is {SAFETENSORS!r} or {TENSORFLOW!r} (its format V2, "
            f"prefix.index and prefix.data-*), got {name!r}."
        )
    _format = name


@contextlib.contextmanager
def written_as(name: str) -> Iterator[None]:
    """A block in which this process writes checkpoints in the format ``name``."""
    before = _format
    set_checkpoint_format(name)
    try:
        yield
    finally:
        set_checkpoint_format(before)


def make_bundle(prefix: Path) -> None:
    """Turns a checkpoint into TensorFlow's files, where another process wrote ours."""
    if os.path.isfile(arrays_path(prefix)):
        items = CheckpointReader(prefix).stored()
        names, specs, arrays = map(list, zip(*items, strict=True)) if items else ([], [], [])
        with written_as(TENSORFLOW):
            write_checkpoint(prefix, names, specs, arrays)


def write_checkpoint(prefix: Path, names: list[str], specs: list[str], arrays: list[Any]) -> None:
    """Writes arrays, and parts of arrays, to the checkpoint ``prefix`` in one step.

    ``prefix.safetensors``, where parts that together make a whole are one array; or, in TensorFlow's
    format, ``prefix.index`` and ``prefix.data-00000-of-00001``. A prefix that ends in ``.safetensors``
    is a file of that format, whatever was chosen. Raises `InvalidArgumentError` for two tensors of one
    name.
    """
    whole: dict[str, Any] = {}
    parts: dict[str, list[tuple[Part, Any]]] = {}
    for name, spec, array in zip(names, specs, arrays, strict=True):
        if name in whole or (name in parts and not spec):
            raise InvalidArgumentError(message=f"Two tensors to save are called {name!r}.")
        if spec:
            parts.setdefault(name, []).append((Part(spec), array))
        else:
            whole[name] = array
    if _writes_bundle(prefix):
        for name, items in parts.items():
            whole[name] = _slices(items)
        write_bundle(prefix, whole)
        _remove_older(prefix, num_shards=1)
    else:
        for name, items in parts.items():
            whole.update(joined_parts(name, items))
        write_arrays(arrays_path(prefix), dict(sorted(whole.items())))
        _remove_older(prefix)


def _writes_bundle(prefix: Path) -> bool:
    return _format == TENSORFLOW and arrays_path(prefix) != local_path(prefix)


def _slices(items: list[tuple[Part, Any]]) -> Any:
    """As TensorFlow stores them; a part that is the whole is stored as such."""
    first = items[0][0]
    if first.shape == first.full_shape:
        return items[0][1]
    slices: list[tuple[tuple[Extent, ...], Any]] = [
        (tuple((s.start, s.stop - s.start) for s in part.slices), array) for part, array in items
    ]
    return Slices(first.full_shape, slices)


def _remove_older(prefix: Path, num_shards: int | None = None) -> None:
    """What an earlier save left under this prefix: the other format's files, other shards.

    ``num_shards``: of TensorFlow's format, where that was written.
    """
    path = local_path(prefix)
    kept = "" if num_shards is None else f"-of-{num_shards:05d}"
    for file in bundle_files(path):
        if num_shards is None or not file.endswith((".index", kept)):
            os.remove(file)
    if num_shards is not None and os.path.isfile(arrays_path(path)):
        os.remove(arrays_path(path))  # it would be read first


def merge_checkpoints(
    prefixes: list[str],
    destination: str,
    delete_old_dirs: bool = True,
    allow_missing_files: bool = False,
) -> None:
    """Puts the checkpoints of several shards together under one prefix, and removes them.

    Of shards in TensorFlow's format the data files become those of the whole, without a copy.

    Args:
        prefixes: the shards.
        destination: the prefix of the whole.
        delete_old_dirs: remove the folders of the shards, where nothing else is in them.
        allow_missing_files: leave shards out that are not there; otherwise `NotFoundError`.
    """
    if allow_missing_files:
        prefixes = [prefix for prefix in prefixes if checkpoint_files(prefix)]
    if _writes_bundle(destination) and all(map(_is_bundle_alone, prefixes)):
        _remove_older(destination, merge_bundles(prefixes, destination))
    else:
        items = [item for prefix in prefixes for item in CheckpointReader(prefix).stored()]
        names, specs, arrays = map(list, zip(*items, strict=True)) if items else ([], [], [])
        write_checkpoint(destination, names, specs, arrays)
        for prefix in prefixes:
            for file in checkpoint_files(prefix):
                os.remove(file)
    folders = {os.path.dirname(os.path.abspath(prefix)) for prefix in prefixes}
    for folder in folders - {os.path.dirname(os.path.abspath(destination))}:
        if delete_old_dirs and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def _is_bundle_alone(prefix: Path) -> bool:
    return is_tensor_bundle(prefix) and not os.path.isfile(arrays_path(prefix))
