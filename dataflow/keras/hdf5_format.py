"""Keras's HDF5 files: models and weights as TensorFlow and Keras write and read them.

A file of weights has one group for each layer, in the order of the attribute ``layer_names``; its
attribute ``weight_names`` lists the datasets in it. A file of a model keeps these groups in
``model_weights``, the architecture and what `compile` was given as JSON in the attributes
``model_config`` and ``training_config``, and the optimizer's variables in ``optimizer_weights``.
Needs h5py.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import json
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import DataLossError
from dataflow.extras import install
from dataflow.formats.atomic_files import write_atomically
from dataflow.keras import backend as K, old_weights, recurrent_weights
from dataflow.keras.sequential import class_name
from dataflow.layers.serialization import custom_object_scope, serialize

if TYPE_CHECKING:
    from dataflow.keras.network import Model

SUFFIXES = (".h5", ".hdf5", ".keras")
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_VERSION = "2.2.4-tf"
_MOST_BYTES = 64512


def is_available() -> bool:
    """Whether h5py is installed."""
    return importlib.util.find_spec("h5py") is not None


def _h5py(path: str) -> Any:
    if not is_available():
        raise ImportError(
            f"{path} is an HDF5 file, and h5py is not installed: {install('hdf5')}. "
            "Names that do not end in .h5 need none."
        )
    import h5py

    return h5py


def _ordered_weights(layer: Any) -> list[Any]:
    """Trainable ones first, as these files have them."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _write_weights(group: Any, model: Model) -> None:
    layers = model.layers
    _write_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = _VERSION.encode()
    for layer in layers:
        part = group.create_group(layer.name)
        weights = _ordered_weights(layer)
        values = recurrent_weights.stored(layer, K.batch_get_value(weights))
        _write_arrays(part, weights, values)


def _write_arrays(group: Any, variables: list[Any], values: list[Any]) -> None:
    names: list[str] = []
    for variable, value in zip(variables, values, strict=True):
        name = variable.name
        while name in names:  # two calls of one scope
            name += "_1"
        names.append(name)
        group.create_dataset(name, data=np.asarray(value))
    _write_names(group, "weight_names", names)


def _write_names(group: Any, key: str, names: list[str]) -> None:
    """An attribute of HDF5 holds 64 kB: longer lists are cut, into ``key0``, ``key1``, ..."""
    encoded = np.array([n.encode() for n in names], dtype="S")
    if encoded.nbytes <= _MOST_BYTES:
        group.attrs[key] = encoded
        return
    for number, part in enumerate(_parts([n.encode() for n in names])):
        group.attrs[f"{key}{number}"] = np.array(part, dtype="S")


def _parts(names: list[bytes]) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    for name in names:
        longest = max(map(len, [name, *parts[-1]]))
        if parts[-1] and longest * (len(parts[-1]) + 1) > _MOST_BYTES:
            parts.append([])
        parts[-1].append(name)
    return parts


def _names(group: Any, key: str) -> list[str]:
    """The names in an attribute, or in the parts of one."""
    if key in group.attrs:
        return [_text(name) for name in group.attrs[key]]
    found: list[str] = []
    for number in itertools.count():
        if f"{key}{number}" not in group.attrs:
            return found
        found += [_text(name) for name in group.attrs[f"{key}{number}"]]
    return found


def _write_whole(path: str, write: Any) -> None:
    """Writes a file in one step: a reader sees the old one or the new one."""
    # In memory first: the HDF5 library locks files in its own way.
    with _h5py(path).File(io.BytesIO(), "w") as opened:
        write(opened)
        opened.flush()
        content = opened.id.get_file_image()
    write_atomically(path, content)


def is_open_file(target: Any) -> bool:
    """Whether ``target`` is a file of h5py's, or a group in one, rather than the name of a file."""
    return "h5py" in sys.modules and isinstance(target, sys.modules["h5py"].Group)


def save_model(path: Any, model: Any, include_optimizer: bool) -> None:
    """Writes architecture, weights, and what `compile` was given, to a file by its name or to one that is open."""
    config = {"class_name": class_name(model), "config": model.get_config()}

    def write(opened: Any) -> None:
        opened.attrs["backend"] = b"tensorflow"
        opened.attrs["keras_version"] = _VERSION.encode()
        opened.attrs["model_config"] = json.dumps(config, default=serialize).encode()
        _write_weights(opened.create_group("model_weights"), model)
        if include_optimizer and model.optimizer is not None:
            training = {
                "optimizer_config": serialize(model.optimizer),
                **serialize(model._compile_arguments),
            }
            opened.attrs["training_config"] = json.dumps(training, default=serialize).encode()
            variables = model.optimizer.weights
            if variables:
                group = opened.create_group("optimizer_weights")
                _write_arrays(group, variables, K.batch_get_value(variables))

    with model._graph.as_default():
        if is_open_file(path):
            write(path)
        else:
            _write_whole(path, write)


def save_weights(path: str, model: Model) -> None:
    """Writes the weights only."""
    with model._graph.as_default():
        _write_whole(path, lambda opened: _write_weights(opened, model))


def _open(path: Any) -> Any:
    if is_open_file(path):
        return contextlib.nullcontext(path)
    try:
        return _h5py(path).File(path, "r")
    except OSError as error:
        raise DataLossError(message=f"{path} is damaged, or no whole HDF5 file: {error}") from error


def load_model(path: Any, custom_objects: Any, compile: bool) -> Any:
    """The model of a file; raises `ValueError` for one of weights only."""
    from dataflow.keras.layers import deserialize

    with _open(path) as opened, custom_object_scope(custom_objects or {}):
        text = opened.attrs.get("model_config")
        if text is None:
            raise ValueError(
                f"No model found in {path}: it holds only weights. Build the model, then "
                "model.load_weights(path)."
            )
        model = deserialize(json.loads(_text(text)))
        _assign(path, opened["model_weights"], model, by_name=False)
        text = opened.attrs.get("training_config")
        if not compile or text is None:
            return model
        settings = json.loads(_text(text))
        model.compile(settings.pop("optimizer_config"), **settings)
        if "optimizer_weights" in opened:
            values = _arrays(opened["optimizer_weights"])
            with model._graph.as_default():
                model._make_train_operations()
                try:
                    model.optimizer.set_weights(values)
                except ValueError as error:
                    warnings.warn(
                        f"{path}: the optimizer starts anew, as its saved state does not fit: "
                        f"{error}",
                        stacklevel=4,
                    )
    return model


def load_weights(
    path: str, model: Model, by_name: bool, skip_mismatch: bool = False, reshape: bool = False
) -> None:
    """Reads weights, layer by layer in order, or into the layers of the same names; see `saving`."""
    with _open(path) as opened:
        group = opened.get("model_weights", opened)
        if "layer_names" not in group.attrs and "layer_names0" not in group.attrs:
            raise ValueError(f"{path} is an HDF5 file, but none of Keras's weights.")
        _assign(path, group, model, by_name, skip_mismatch, reshape)


def _arrays(group: Any) -> list[Any]:
    return [np.asarray(group[name]) for name in _names(group, "weight_names")]


def _reshaped(arrays: list[Any], weights: list[Any]) -> list[Any]:
    """Arrays in the shapes of weights with as many elements."""
    sizes = [w.shape.as_list() for w in weights]
    pairs = zip(arrays, sizes, strict=False)
    fitting = [a.reshape(size) if a.size == np.prod(size, dtype=int) else a for a, size in pairs]
    return [*fitting, *arrays[len(fitting) :]]


def _mismatch(name: str, weights: list[Any], arrays: list[Any]) -> str | None:
    """What is wrong with arrays for the weights of a layer, if anything is."""
    shapes, found = [w.shape.as_list() for w in weights], [list(a.shape) for a in arrays]
    if shapes == found:
        return None
    words = f"the weights of layer {name!r} do not fit.\n  the model has: {shapes}\n  the file has: {found}"
    if len(shapes) != len(found):
        return f"{words}\nIt expects {len(shapes)} weights, but the saved ones are {len(found)} arrays."
    return f"{words}\nIt has shape {shapes[0]}, but the saved weight has shape {found[0]}."


def _assign(
    path: str,
    group: Any,
    model: Model,
    by_name: bool,
    skip_mismatch: bool = False,
    reshape: bool = False,
) -> None:
    stored = [(name, _arrays(group[name])) for name in _names(group, "layer_names")]
    stored = [(name, arrays) for name, arrays in stored if arrays]
    layers = [layer for layer in model.layers if layer.weights]
    if by_name:
        named = dict(stored)
        pairs = [(layer, named[layer.name]) for layer in layers if layer.name in named]
    elif len(stored) != len(layers):
        raise ValueError(
            f"You are trying to load the weights of {len(stored)} layers into a model with "
            f"{len(layers)} layers.\n  {path} has: {', '.join(n for n, _ in stored)}\n"
            f"  the model has, with weights: {', '.join(x.name for x in layers)}\n"
            "Pass by_name=True to load those that both have."
        )
    else:
        pairs = [(layer, arrays) for layer, (_, arrays) in zip(layers, stored, strict=True)]
    # A file that does not say so is of Keras 1.
    said = [group.attrs.get(name) for name in ("keras_version", "backend")]
    written_by = [None if value is None else _text(value) for value in said]
    written_by[0] = written_by[0] or "1"
    updates: list[Any] = []
    for layer, arrays in pairs:
        weights = _ordered_weights(layer)
        arrays = old_weights.loaded(layer, arrays, *written_by)
        if reshape:
            arrays = _reshaped(arrays, weights)
        mismatch = _mismatch(layer.name, weights, arrays)
        if mismatch and skip_mismatch:
            warnings.warn(
                f"Skipping loading of weights for layer {layer.name!r} due to mismatch in shape: {mismatch}",
                stacklevel=5,
            )
            continue
        if mismatch:
            raise ValueError(f"{path}: {mismatch}")
        updates.extend(zip(weights, arrays, strict=True))
    with model._graph.as_default():
        K.batch_set_value(updates)
