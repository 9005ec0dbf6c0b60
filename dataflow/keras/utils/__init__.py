"""`tf.keras.utils`."""

from __future__ import annotations

from dataflow.graph.type_aliases import TensorLike

from typing import Any

import numpy as np

from dataflow.graph import nest
from dataflow.layers.serialization import (
    CustomObjectScope,
    custom_object_scope,
    deserialize,
    get_custom_objects,
    lookup,
    serialize as serialize_keras_object,
)

from dataflow.keras.utils.data_files import get_file
from dataflow.keras.utils.hdf5_matrix import HDF5Matrix
from dataflow.keras.utils.enqueuers import GeneratorEnqueuer, OrderedEnqueuer, SequenceEnqueuer
from dataflow.keras.utils.kernel_conversion import convert_all_kernels_in_model
from dataflow.keras.utils.model_plot import model_to_dot, plot_model
from dataflow.keras.utils.multi_gpu import multi_gpu_model
from dataflow.keras.utils.progress import Progbar

__all__ = ["CustomObjectScope", "GeneratorEnqueuer", "HDF5Matrix", "OrderedEnqueuer", "Progbar"]
__all__ += ["Sequence"]
__all__ += ["SequenceEnqueuer", "custom_object_scope", "deserialize_keras_object"]
__all__ += ["get_custom_objects", "get_source_inputs"]
__all__ += [
    "convert_all_kernels_in_model",
    "get_file",
    "model_to_dot",
    "multi_gpu_model",
    "normalize",
    "plot_model",
    "serialize_keras_object",
    "to_categorical",
]


def deserialize_keras_object(
    identifier: Any,
    module_objects: Any = None,
    custom_objects: Any = None,
    printable_module_name: str = "object",
) -> Any:
    """The object of ``{"class_name", "config"}``, or the function of a name.

    It is looked up in ``custom_objects``, in `get_custom_objects` and in ``module_objects``, dicts
    by name; raises `ValueError` for what is in none of them.
    """
    known = dict(module_objects or {})
    with custom_object_scope(custom_objects or {}):
        if identifier is None or callable(identifier):
            return identifier
        if isinstance(identifier, str):
            found = lookup(printable_module_name, identifier, known)
            return found() if isinstance(found, type) else found
        return deserialize(printable_module_name, identifier, known)


def get_source_inputs(tensor: TensorLike, layer: Any = None, node_index: Any = None) -> list[Any]:
    """The tensors of `Input` that ``tensor`` was computed from, without repetition."""
    from dataflow.keras.call_nodes import tag_of

    history = tag_of(tensor, "history")
    if history is None:
        return [tensor]
    taken = nest.flatten(history[1].inputs)
    if not taken:
        return [tensor]
    found: list[Any] = []
    for source in taken:
        found += [t for t in get_source_inputs(source) if not any(t is f for f in found)]
    return found


def to_categorical(y: Any, num_classes: int | None = None, dtype: str = "float32") -> Any:
    """Class numbers as rows with one 1: shape ``y.shape + (num_classes,)``.

    A last axis of size 1 is dropped. Raises `ValueError` for numbers outside [0, num_classes).
    """
    labels = np.asarray(y, dtype="int64")
    shape = labels.shape[:-1] if labels.ndim > 1 and labels.shape[-1] == 1 else labels.shape
    flat = labels.reshape(-1)
    if num_classes is None:
        num_classes = int(flat.max()) + 1 if flat.size else 0
    if flat.size and (flat.min() < 0 or flat.max() >= num_classes):
        raise ValueError(
            f"to_categorical: labels are {flat.min()} to {flat.max()}, but num_classes is "
            f"{num_classes}: they must be in [0, {num_classes})."
        )
    result = np.zeros((flat.size, num_classes), dtype)
    result[np.arange(flat.size), flat] = 1
    return result.reshape(*shape, num_classes)


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """``x`` divided by its norm along ``axis``; zeros stay."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


class Sequence:
    """Batches by number: define ``__getitem__`` and ``__len__``."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """After each epoch."""


def __getattr__(name: str) -> Any:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)  # keras.utils.generic_utils, without an import
