"""Models in files: arrays in safetensors, the architecture as JSON in the header; or Keras's HDF5.

Code that a file may hold, of the lambda of a `Lambda` layer, is not loaded unless the program says
so: a file from elsewhere is safe to load. Where h5py is installed a model
is written as HDF5, and so are weights under a name that ends in ``.h5``, ``.hdf5`` or ``.keras``:
see `hdf5_format`. A name that ends in ``.safetensors``, or ``save_format``, says otherwise. Weights
under any other name are a checkpoint, as TensorFlow 1.15 writes it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import DataLossError, NoFileError
from dataflow.extras import install
from dataflow.formats.safetensors_store import read_arrays, read_metadata, write_arrays
from dataflow.keras import backend as K, function_code, hdf5_format
from dataflow.keras.optimizers import TFOptimizer
from dataflow.keras.sequential import class_name
from dataflow.layers.serialization import custom_object_scope, serialize

if TYPE_CHECKING:
    from dataflow.keras.network import Model

_KEY = "keras"


def _target(path: str, overwrite: bool, save_format: Any, is_model: bool) -> tuple[str, bool]:
    """The path, and whether HDF5 is meant; raises `FileExistsError`, `ValueError`."""
    path = os.fspath(path)
    if save_format not in (None, "h5", "hdf5", "keras", "safetensors"):
        raise ValueError(
            f"save_format is 'h5' or 'safetensors', got {save_format!r}. For a SavedModel, use "
            "tf.keras.experimental.export_saved_model(model, folder)."
        )
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it.")
    named = path.endswith(hdf5_format.SUFFIXES)
    if save_format in ("h5", "hdf5", "keras"):
        return str(path), True
    # As in TensorFlow 1.15: a model is HDF5 whatever its name, weights where the name says so.
    wanted = named or (is_model and not path.endswith(".safetensors"))
    if wanted and save_format is None and hdf5_format.is_available():
        return str(path), True
    if named:
        warnings.warn(
            f"{os.path.basename(path)} is written in dataflow's own format (safetensors), whatever "
            "its name says: tf.keras here reads it back, programs that expect HDF5 do not. For "
            f"HDF5: {install('hdf5')}.",
            stacklevel=4,
        )
    return str(path), False


def _arrays(model: Model) -> dict[str, Any]:
    # Numbered, because names of variables differ between two models of the same architecture.
    arrays = {}
    for layer in model.layers:
        for i, value in enumerate(K.batch_get_value(layer.weights)):
            arrays[f"{layer.name}/{i}:{layer.weights[i].op.name.rpartition('/')[2]}"] = value
    return arrays


def _check(path: str) -> str:
    path = os.fspath(path)
    if not os.path.exists(path):
        raise NoFileError(message=f"There is no file {path}.")
    if os.path.isdir(path):
        raise DataLossError(
            message=f"{path} is a folder. SavedModels of TensorFlow are not read here; a model of "
            "tf.keras is one file, written by model.save(path)."
        )
    return str(path)


def _is_hdf5(path: str) -> bool:
    with open(path, "rb") as opened:
        return opened.read(8) == hdf5_format.SIGNATURE


def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: Any = None,
) -> None:
    """Writes architecture, weights, and what `compile` was given, to one file, in one step.

    Raises `FileExistsError` without ``overwrite``, `TypeError` where a layer holds something that
    has no name and is no lambda. ``filepath`` may be an open `h5py.File`.
    """
    if include_optimizer and isinstance(model.optimizer, TFOptimizer):
        warnings.warn(
            "An optimizer of tf.train has no config to save: the model is saved without it. Compile it "
            "after loading.",
            stacklevel=3,
        )
        include_optimizer = False
    if hdf5_format.is_open_file(filepath):
        hdf5_format.save_model(filepath, model, include_optimizer)
        return
    path, is_hdf5 = _target(filepath, overwrite, save_format, is_model=True)
    if is_hdf5:
        hdf5_format.save_model(path, model, include_optimizer)
        return
    note: dict[str, Any] = {
        "model": {"class_name": class_name(model), "config": model.get_config()},
        "order": [layer.name for layer in model.layers if layer.weights],
    }
    with model._graph.as_default():
        arrays = _arrays(model)
        if include_optimizer and model.optimizer is not None:
            note["compile"] = {
                "optimizer": serialize(model.optimizer),
                **serialize(model._compile_arguments),
            }
            for i, value in enumerate(model.optimizer.get_weights()):
                arrays[f"optimizer_weights/{i}"] = value
    write_arrays(path, arrays, {_KEY: json.dumps(note, default=serialize)})


def load_model(
    filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True
) -> Any:
    """The model of a file that `save_model` (or TensorFlow, as HDF5) wrote, ready to predict and to go on training.

    ``custom_objects``: your own classes and functions, by name; a lambda by the name of its layer.
    Without ``safe_mode`` code of lambdas in the file is loaded, and so may do anything: for files of
    people you trust, written by the same version of Python.

    Raises `FileNotFoundError`; `DataLossError` for a damaged file or another format; `ValueError`
    for a name that is not known, or code that may not be loaded.
    """
    is_open = hdf5_format.is_open_file(filepath)
    path = filepath if is_open else _check(filepath)
    with function_code.safe_mode(safe_mode):
        if is_open or _is_hdf5(path):
            return hdf5_format.load_model(path, custom_objects, compile)
        return _load_model(path, custom_objects, compile)


def _load_model(path: str, custom_objects: Any, compile: bool) -> Any:
    from dataflow.keras.layers import deserialize

    text = read_metadata(path).get(_KEY)
    if text is None:
        raise ValueError(f"{path} holds arrays but no model: was it written by save_weights?")
    note = json.loads(text)
    if "model" not in note:
        raise ValueError(
            f"{path} holds only weights: build the model, then model.load_weights(path)."
        )
    with custom_object_scope(custom_objects or {}):
        model = deserialize(note["model"])
        _assign(model, path, by_name=False)
        if compile and "compile" in note:
            settings = dict(note["compile"])
            model.compile(**settings)
            arrays = read_arrays(path)
            values = [v for k, v in arrays.items() if k.startswith("optimizer_weights/")]
            if values:
                count = len(values)
                ordered = [arrays[f"optimizer_weights/{i}"] for i in range(count)]
                model._make_train_operations()
                model.optimizer.set_weights(ordered)
    return model


def save_weights(
    model: Model, filepath: Any, overwrite: bool = True, save_format: Any = None
) -> None:
    """Writes the weights only: a checkpoint, unless the name or ``save_format`` says otherwise."""
    if save_format in ("tf", "tensorflow") or (save_format is None and _is_prefix(filepath)):
        from dataflow.keras.saved_models import save_checkpoint

        save_checkpoint(model, filepath, overwrite)
        return
    path, is_hdf5 = _target(filepath, overwrite, save_format, is_model=False)
    if not model.weights:
        raise ValueError("This model has no weights yet: give it an input_shape, or data.")
    if is_hdf5:
        hdf5_format.save_weights(path, model)
        return
    with model._graph.as_default():
        arrays = _arrays(model)
    order = [layer.name for layer in model.layers if layer.weights]
    write_arrays(path, arrays, {_KEY: json.dumps({"order": order})})


def _is_prefix(path: Any) -> bool:
    """Whether the name is one for a checkpoint, as in TensorFlow 1.15, and one can be written."""
    named = os.fspath(path).endswith((*hdf5_format.SUFFIXES, ".safetensors"))
    return not named and importlib.util.find_spec("tensorboard") is not None


def load_weights(
    model: Model,
    filepath: Any,
    by_name: bool = False,
    skip_mismatch: bool = False,
    reshape: bool = False,
) -> None:
    """Reads weights, layer by layer in order, or into the layers of the same names.

    Of HDF5 files: layers whose weights do not fit are left alone with ``skip_mismatch`` (and a
    warning), and arrays with ``reshape`` brought into the shapes of weights with as many elements.
    Raises `ValueError` where they do not fit, or for ``skip_mismatch`` without ``by_name``.
    """
    from dataflow.keras.saved_models import is_checkpoint, load_checkpoint

    if skip_mismatch and not by_name:
        raise ValueError("load_weights: skip_mismatch=True is for by_name=True.")
    if hdf5_format.is_open_file(filepath):
        hdf5_format.load_weights(filepath, model, by_name, skip_mismatch, reshape)
        return
    if is_checkpoint(filepath):
        load_checkpoint(model, filepath)
        return
    path = _check(filepath)
    if _is_hdf5(path):
        hdf5_format.load_weights(path, model, by_name, skip_mismatch, reshape)
    else:
        _assign(model, path, by_name)


def _assign(model: Model, path: str, by_name: bool) -> None:
    groups: dict[str, list[np.ndarray[Any, Any]]] = {}
    for key, array in read_arrays(path).items():
        layer_name, _, rest = key.rpartition("/")
        if layer_name != "optimizer_weights":
            groups.setdefault(layer_name, []).append((int(rest.partition(":")[0]), array))  # type: ignore[arg-type]
    stored = {k: [a for _, a in sorted(v, key=lambda p: p[0])] for k, v in groups.items()}
    layers = [layer for layer in model.layers if layer.weights]
    if not layers:
        if not stored and model.built:
            return
        raise ValueError(
            "load_weights: the model has no weights yet; give its first layer input_shape=..., or "
            "call it on data first."
        )
    names = {layer.name for layer in layers}
    if by_name:
        pairs = [(layer, stored[layer.name]) for layer in layers if layer.name in stored]
    elif names == set(stored):
        pairs = [(layer, stored[layer.name]) for layer in layers]
    else:
        order = json.loads(read_metadata(path).get(_KEY, "{}")).get("order", sorted(stored))
        if len(order) != len(layers):
            raise ValueError(
                f"{path} holds weights of {len(order)} layers ({', '.join(order)}); the model has "
                f"{len(layers)} with weights ({', '.join(x.name for x in layers)}).\n"
                "Pass by_name=True to load those that both have."
            )
        pairs = [(layer, stored[key]) for layer, key in zip(layers, order, strict=True)]
    with model._graph.as_default():
        updates: list[Any] = []
        for layer, values in pairs:
            shapes = [w.shape.as_list() for w in layer.weights]
            if shapes != [list(v.shape) for v in values]:
                raise ValueError(
                    f"{path}: the weights of layer {layer.name!r} do not fit.\n  the model has: "
                    f"{shapes}\n  the file has: {[list(v.shape) for v in values]}"
                )
            updates.extend(zip(layer.weights, values, strict=True))
        K.batch_set_value(updates)
