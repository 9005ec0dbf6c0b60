"""Checkpoints of both formats under one roof: ours (safetensors) and TensorFlow's (V2).

A checkpoint is named by its prefix, such as ``model.ckpt-100``; ours is the file
``model.ckpt-100.safetensors``, TensorFlow's ``model.ckpt-100.index`` with ``.data-*``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflow.errors import DataLossError, InvalidArgumentError, NotFoundError
from dataflow.formats.bundle_writer import write_bundle
from dataflow.formats.local_paths import local_path
from dataflow.formats.safetensors_store import list_arrays, read_arrays, write_arrays
from dataflow.formats.tensor_bundle import TensorBundleReader, is_tensor_bundle

SUFFIX = ".safetensors"

#: Between a tensor's name and the part of it that an array is; no node's name has this character.
_PART = "@"

Path = str | os.PathLike[str]


def arrays_path(prefix: Path) -> str:
    """The file with the arrays of our checkpoint ``prefix``."""
    text = local_path(prefix)
    return text if text.endswith(SUFFIX) else text + SUFFIX


def checkpoint_files(prefix: Path) -> list[str]:
    """The files of a checkpoint that exist; empty where there is none."""
    path = arrays_path(prefix)
    if os.path.isfile(path):
        return [path]
    if not is_tensor_bundle(prefix):
        return []
    folder, name = os.path.split(os.path.abspath(local_path(prefix)))
    shards = [f for f in os.listdir(folder) if f.startswith(name + ".data-")]
    return [local_path(prefix) + ".index", *sorted(os.path.join(folder, f) for f in shards)]


class Part:
    """Which part of a whole tensor is meant; parsed from ``"10 4 0,5:0,4"`` (or ``"-"``: all)."""

    def __init__(self, spec: str) -> None:
        *sizes, extents = spec.split(" ")
        self.spec = spec
        self.full_shape = tuple(int(n) for n in sizes)
        pairs = [
            (0, size) if e == "-" else tuple(int(n) for n in e.split(","))
            for e, size in zip(extents.split(":"), self.full_shape, strict=True)
        ]
        self.shape = tuple(length for _, length in pairs)
        self.slices = tuple(slice(start, start + length) for start, length in pairs)


#: Whether checkpoints are written as TensorFlow writes them: programs look for ``prefix.index``.
_in_tensorflow_format = False


def write_in_tensorflow_format(on: bool = True) -> None:
    """From now on checkpoints of this process are written in TensorFlow's format V2, or no longer."""
    global _in_tensorflow_format
    _in_tensorflow_format = on


def write_checkpoint(prefix: Path, names: list[str], specs: list[str], arrays: list[Any]) -> None:
    """Writes arrays, and parts of arrays, to ``prefix.safetensors`` in one step.

    Parts that together make a whole are stored as one array. After `write_in_tensorflow_format` the files
    are ``prefix.index`` and ``prefix.data-00000-of-00001``, but for a prefix that ends in ``.safetensors``
    and for a shard that has a part of a tensor.
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
    for name, items in parts.items():
        whole.update(_joined(name, items))
    path = arrays_path(prefix)
    if _in_tensorflow_format and path != local_path(prefix) and not any(_PART in n for n in whole):
        write_bundle(prefix, whole)
        if os.path.isfile(path):
            os.remove(path)  # of an earlier save; it would be read first
    else:
        write_arrays(path, dict(sorted(whole.items())))


def _joined(name: str, items: list[tuple[Part, Any]]) -> dict[str, Any]:
    full_shape = items[0][0].full_shape
    covered = sum(int(np.prod(part.shape)) for part, _ in items)
    if covered != int(np.prod(full_shape)):
        return {f"{name}{_PART}{part.spec}": array for part, array in items}
    array = np.empty(full_shape, np.asarray(items[0][1]).dtype)
    for part, piece in items:
        array[part.slices] = piece
    return {name: array}


def _arrays_of(prefix: Path) -> dict[str, Any]:
    """Everything in a checkpoint, by the names in its files."""
    if os.path.isfile(arrays_path(prefix)):
        return read_arrays(arrays_path(prefix))
    bundle = TensorBundleReader(local_path(prefix))
    return {name: bundle.get_tensor(name) for name in bundle.get_variable_to_shape_map()}


def merge_checkpoints(prefixes: list[str], destination: str) -> None:
    """Puts the checkpoints of several shards together, and removes them."""
    names, specs, arrays = [], [], []
    for prefix in prefixes:
        for key, array in _arrays_of(prefix).items():
            name, _, spec = key.partition(_PART)
            names.append(name)
            specs.append(spec)
            arrays.append(array)
    write_checkpoint(destination, names, specs, arrays)
    folders = set()
    for prefix in prefixes:
        for file in checkpoint_files(prefix):
            os.remove(file)
        folders.add(os.path.dirname(os.path.abspath(prefix)))
    for folder in folders - {os.path.dirname(os.path.abspath(destination))}:
        if not os.listdir(folder):
            os.rmdir(folder)


class CheckpointReader:
    """The tensors of a checkpoint, read one by one; made by `NewCheckpointReader`.

    Raises `NotFoundError` where no file matches the prefix, `DataLossError` for a damaged one.
    """

    def __init__(self, prefix: Path) -> None:
        self._prefix = local_path(prefix)
        self._bundle: TensorBundleReader | None = None
        self._path = arrays_path(prefix)
        if os.path.isfile(self._path):
            self._infos = list_arrays(self._path)
        elif is_tensor_bundle(self._prefix):
            self._bundle = TensorBundleReader(self._prefix)
        else:
            raise NotFoundError(
                message=f"{self._prefix}: no checkpoint of this name: neither {self._path} nor "
                f"{self._prefix}.index exists."
            )

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether the checkpoint holds a tensor of this name."""
        if self._bundle is not None:
            return self._bundle.has_tensor(tensor_str)
        return tensor_str in self.get_variable_to_shape_map()

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Name to shape; a partitioned variable has the shape of the whole."""
        if self._bundle is not None:
            return self._bundle.get_variable_to_shape_map()
        shapes = {}
        for key, info in self._infos.items():
            name, _, spec = key.partition(_PART)
            shapes[name] = list(Part(spec).full_shape if spec else info.shape)
        return shapes

    def dtype_names(self) -> dict[str, str]:
        """Name to the name of the dtype as stored."""
        if self._bundle is not None:
            return self._bundle.get_variable_to_dtype_map()
        return {key.partition(_PART)[0]: info.dtype for key, info in self._infos.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Name to `DType`."""
        from dataflow.dtypes import as_dtype

        return {name: as_dtype(text) for name, text in self.dtype_names().items()}

    def get_tensor(self, tensor_str: str) -> Any:
        """The tensor as an array (a NumPy scalar for a scalar).

        Raises `NotFoundError` for a name that is not there, `DataLossError` for damaged bytes.
        """
        array = self.read([tensor_str], [""])[0]
        return array[()] if not array.shape else array

    def read(self, names: list[str], specs: list[str]) -> list[Any]:
        """The tensors ``names``, or the parts of them that ``specs`` says where not empty."""
        missing = [n for n in names if not self.has_tensor(n)]
        if missing:
            raise NotFoundError(message=self._missing(missing))
        if self._bundle is not None:
            loaded: Any = {name: self._bundle.get_tensor(name) for name in dict.fromkeys(names)}
        else:
            wanted = set(names)
            keys = [k for k in self._infos if k.partition(_PART)[0] in wanted]
            loaded = self._put_together(read_arrays(self._path, keys))
        result = []
        for name, spec in zip(names, specs, strict=True):
            array = loaded[name]
            if spec:
                part = Part(spec)
                if part.full_shape != array.shape:
                    raise InvalidArgumentError(
                        message=f"{self._prefix}: {name!r} has shape {list(array.shape)}, the "
                        f"part asked for is of a tensor of shape {list(part.full_shape)}."
                    )
                array = np.ascontiguousarray(array[part.slices])
            result.append(array)
        return result

    def _put_together(self, arrays: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        parts: dict[str, list[tuple[Part, Any]]] = {}
        for key, array in arrays.items():
            name, _, spec = key.partition(_PART)
            if spec:
                parts.setdefault(name, []).append((Part(spec), array))
            else:
                result[name] = array
        for name, items in parts.items():
            joined = _joined(name, items)
            if name not in joined:
                raise DataLossError(
                    message=f"{self._path}: only {len(items)} parts of {name!r} are there."
                )
            result.update(joined)
        return result

    def _missing(self, missing: list[str]) -> str:
        import difflib

        known = list(self.get_variable_to_shape_map())
        lines = []
        for name in missing[:10]:
            close = difflib.get_close_matches(name, known, n=2)
            hint = f" (there is: {', '.join(close)})" if close else ""
            lines.append(f"  Key {name} not found in checkpoint{hint}")
        if len(missing) > 10:
            lines.append(f"  and {len(missing) - 10} more")
        return f"{self._prefix}: it holds {len(known)} tensors, but:\n" + "\n".join(lines)

    def check(self, expected: Mapping[str, tuple[Any, str]]) -> None:
        """Compares with what is to be restored: name to (shape or ``None``, dtype's name).

        Raises `NotFoundError` or `InvalidArgumentError` with every difference.
        """
        shapes, dtypes = self.get_variable_to_shape_map(), self.dtype_names()
        missing = [name for name in expected if name not in shapes]
        wrong = []
        for name, (shape, dtype) in expected.items():
            if name in missing:
                continue
            if shape is not None and not _fits(shapes[name], shape):
                wrong.append(f"  {name}: shape {shapes[name]} in the file, needed {list(shape)}")
            if dtypes[name] != dtype:
                wrong.append(f"  {name}: {dtypes[name]} in the file, needed {dtype}")
        if not missing and not wrong:
            return
        text = f"{self._prefix}: the checkpoint is not one of this graph; nothing was restored."
        if missing:
            extra = [n for n in shapes if n not in expected]
            text = self._missing(missing) + (
                f"\n  only in the checkpoint: {', '.join(extra[:10])}" if extra else ""
            )
            raise NotFoundError(message=text + ("\n" + "\n".join(wrong) if wrong else ""))
        raise InvalidArgumentError(message=text + "\n" + "\n".join(wrong))

    def debug_string(self) -> bytes:
        """One line for each tensor: its name, dtype and shape, as in ``w (DT_FLOAT) [784,10]``."""
        dtypes = self.dtype_names()
        shapes = self.get_variable_to_shape_map()
        lines = [
            f"{name} (DT_{_PROTO_NAMES.get(dtypes[name], dtypes[name].upper())}) "
            f"[{','.join(map(str, shapes[name]))}]\n"
            for name in sorted(shapes)
        ]
        return "".join(lines).encode()


#: Dtypes that messages call otherwise than DT_ and their name.
_PROTO_NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}


def _fits(shape: list[int], needed: Any) -> bool:
    needed = list(needed)
    return len(shape) == len(needed) and all(
        n is None or n == s for s, n in zip(shape, needed, strict=True)
    )


def NewCheckpointReader(filepattern: Path) -> CheckpointReader:
    """A reader of the checkpoint with this prefix, ours or TensorFlow's."""
    return CheckpointReader(filepattern)
