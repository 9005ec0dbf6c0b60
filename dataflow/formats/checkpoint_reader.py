"""Checkpoints of both formats under one roof: ours (safetensors) and TensorFlow's (V2).

A checkpoint is named by its prefix, such as ``model.ckpt-100``; ours is the file
``model.ckpt-100.safetensors``, TensorFlow's ``model.ckpt-100.index`` with ``.data-*``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dataflow.errors import DataLossError, InvalidArgumentError, NotFoundError, ShapeError
from dataflow.formats.local_paths import local_path
from dataflow.formats.safetensors_store import list_arrays, read_arrays
from dataflow.formats.tensor_bundle import TensorBundleReader, is_tensor_bundle

SUFFIX = ".safetensors"

#: Between a tensor's name and the part of it that an array is; no node's name has this character.
PART = "@"

Path = str | os.PathLike[str]


def arrays_path(prefix: Path) -> str:
    """The file with the arrays of our checkpoint ``prefix``."""
    text = local_path(prefix)
    return text if text.endswith(SUFFIX) else text + SUFFIX


def checkpoint_files(prefix: Path) -> list[str]:
    """The files of a checkpoint that exist, what is read first in front; empty where there is none."""
    path = arrays_path(prefix)
    return ([path] if os.path.isfile(path) else []) + bundle_files(prefix)


def bundle_files(prefix: Path) -> list[str]:
    """Those of a checkpoint in TensorFlow's format: the index, and the data of all shards."""
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


def joined_parts(name: str, items: list[tuple[Part, Any]]) -> dict[str, Any]:
    """The whole under its name where all parts are there, or else each part under a name of its own."""
    full_shape = items[0][0].full_shape
    covered = sum(int(np.prod(part.shape)) for part, _ in items)
    if covered != int(np.prod(full_shape)):
        return {f"{name}{PART}{part.spec}": array for part, array in items}
    array = np.empty(full_shape, np.asarray(items[0][1]).dtype)
    for part, piece in items:
        array[part.slices] = piece
    return {name: array}


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
            name, _, spec = key.partition(PART)
            shapes[name] = list(Part(spec).full_shape if spec else info.shape)
        return shapes

    def dtype_names(self) -> dict[str, str]:
        """Name to the name of the dtype as stored."""
        if self._bundle is not None:
            return self._bundle.get_variable_to_dtype_map()
        return {key.partition(PART)[0]: info.dtype for key, info in self._infos.items()}

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
            return [self._from_bundle(n, s) for n, s in zip(names, specs, strict=True)]
        wanted = set(names)
        keys = [k for k in self._infos if k.partition(PART)[0] in wanted]
        loaded = self._put_together(read_arrays(self._path, keys))
        result = []
        for name, spec in zip(names, specs, strict=True):
            array = loaded[name]
            if spec:
                part = self._part_of(name, spec, array.shape)
                array = np.ascontiguousarray(array[part.slices])
            result.append(array)
        return result

    def _from_bundle(self, name: str, spec: str) -> Any:
        assert self._bundle is not None
        if not spec:
            return self._bundle.get_tensor(name)
        shape = tuple(self._bundle.get_variable_to_shape_map()[name])
        return self._bundle.get_part(name, self._part_of(name, spec, shape).slices)

    def _part_of(self, name: str, spec: str, shape: tuple[int, ...]) -> Part:
        part = Part(spec)
        if part.full_shape != shape:
            raise InvalidArgumentError(
                message=f"{self._prefix}: {name!r} has shape {list(shape)}, the "
                f"part asked for is of a tensor of shape {list(part.full_shape)}."
            )
        return part

    def stored(self) -> Iterator[tuple[str, str, Any]]:
        """All that the checkpoint holds as it is stored: name, which part of it (or empty), array."""
        if self._bundle is None:
            for key, array in read_arrays(self._path).items():
                name, _, spec = key.partition(PART)
                yield name, spec, array
            return
        for name, shape in self._bundle.get_variable_to_shape_map().items():
            for extents in self._bundle.stored_parts(name):
                axes = ["-" if n is None else f"{start},{n}" for start, n in extents]
                spec = f"{' '.join(map(str, shape))} {':'.join(axes)}"
                yield name, spec, self._from_bundle(name, spec)
            if not self._bundle.stored_parts(name):
                yield name, "", self._bundle.get_tensor(name)

    def _put_together(self, arrays: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        parts: dict[str, list[tuple[Part, Any]]] = {}
        for key, array in arrays.items():
            name, _, spec = key.partition(PART)
            if spec:
                parts.setdefault(name, []).append((Part(spec), array))
            else:
                result[name] = array
        for name, items in parts.items():
            joined = joined_parts(name, items)
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

        Raises `NotFoundError`, `ShapeError` where shapes alone differ, or `InvalidArgumentError`, with every difference.
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
        wrong_dtype = any(dtypes[name] != dtype for name, (_, dtype) in expected.items())
        kind = InvalidArgumentError if wrong_dtype else ShapeError
        raise kind(message=text + "\n" + "\n".join(wrong))

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
