"""Inputs and outputs of networks for ImageNet: pixels, classes, sizes, weights."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K
from dataflow.keras.layers.core import Input
from dataflow.keras.layers.pooling import GlobalAveragePooling2D, GlobalMaxPooling2D
from dataflow.keras.models import Model

CLASS_INDEX = "imagenet_class_index.json"
#: Means and standard deviations of ImageNet's pixels; those of "caffe" are blue, green, red.
_CAFFE_MEANS = (103.939, 116.779, 123.68)
_TORCH_MEANS = (0.485, 0.456, 0.406)
_TORCH_DEVIATIONS = (0.229, 0.224, 0.225)


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Pixels 0 to 255 (red, green, blue) as a network was trained on them; an array or a tensor.

    ``mode``: "caffe" (blue, green, red, less their means), "tf" (-1 to 1) or "torch" (0 to 1, then
    normalized by ImageNet's means and deviations). Arrays of floats are overwritten, as in Keras ("caffe" returns a
    view with the channels turned round); others become float.
    """
    axis = 1 if (data_format or K.image_data_format()) == "channels_first" else -1
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"preprocess_input: mode is 'caffe', 'tf' or 'torch', got {mode!r}.")
    if not isinstance(x, Tensor):
        x = np.asarray(x)
        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(K.floatx())
        rank = x.ndim
    else:
        x = x if x.dtype.is_floating else K.cast(x, K.floatx())
        rank = K.ndim(x) or 4
    if axis == 1:
        axis = rank - 3
    shape = [1] * rank
    shape[axis] = 3

    def channels(values: Any) -> Any:
        dtype = getattr(x.dtype, "as_numpy_dtype", x.dtype)
        return np.reshape(np.asarray(values, dtype), shape)

    if isinstance(x, np.ndarray):
        return _overwritten(x, axis, mode, channels)
    if mode == "tf":
        return x / channels([127.5] * 3) - channels([1.0] * 3)
    if mode == "torch":
        return (x / channels([255.0] * 3) - channels(_TORCH_MEANS)) / channels(_TORCH_DEVIATIONS)
    return K.reverse(x, [axis]) - channels(_CAFFE_MEANS)


def _overwritten(x: Any, axis: int, mode: str, channels: Callable[..., Any]) -> Any:
    """The pixels of ``x``, an array of floats, replaced by what `preprocess_input` makes of them."""
    if mode == "caffe":
        x = np.flip(x, axis)
        x -= channels(_CAFFE_MEANS)
        return x
    x /= channels([127.5 if mode == "tf" else 255.0] * 3)
    x -= channels([1.0] * 3 if mode == "tf" else _TORCH_MEANS)
    if mode == "torch":
        x /= channels(_TORCH_DEVIATIONS)
    return x


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """The ``top`` classes of each row of [samples, 1000]: (WordNet id, name, score), best first.

    The names stand in Keras's file ``imagenet_class_index.json``, looked for in ``$DATAFLOW_DATA`` and in
    ``~/.keras/models``; `FileNotFoundError` says so where it is in neither.
    """
    preds = np.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "decode_predictions expects a batch of predictions, an array of shape (samples, 1000); "
            f"got shape {preds.shape}."
        )
    classes = json.loads(_class_index().read_text(encoding="utf-8"))
    found = []
    for row in preds:
        best = row.argsort()[-top:][::-1]
        found.append([(*classes[str(i)], row[i]) for i in best])
    return found


def _class_index() -> Path:
    folders = [Path(os.environ.get("KERAS_HOME", Path.home() / ".keras")) / "models"]
    if os.environ.get("DATAFLOW_DATA"):
        folders.insert(0, Path(os.environ["DATAFLOW_DATA"]))
    for folder in folders:
        if (folder / CLASS_INDEX).is_file():
            return folder / CLASS_INDEX
    raise FileNotFoundError(
        f"decode_predictions needs the names of the classes: put Keras's {CLASS_INDEX} into "
        f"{' or '.join(str(folder) for folder in folders)}."
    )


# ---- building ---------------------------------------------------------------------------------


class Builder:
    """What every network here does before its first and after its last layer."""

    def __init__(
        self,
        name: str,
        include_top: bool,
        weights: str | None,
        input_tensor: TensorLike | None,
        input_shape: Any,
        *,
        default_size: int,
        min_size: int,
    ) -> None:
        if weights == "imagenet":
            raise ValueError(
                f"{name}: weights='imagenet' needs a file, and none comes with dataflow. Get Keras's "
                f"file of {name}'s weights (HDF5, h5py reads it) and pass its path: "
                "weights='path.h5'; or train from the start with weights=None."
            )
        if weights is not None and not os.path.exists(weights):
            raise ValueError(
                f"{name}: weights is None, or the path of a file of weights; there is no {weights!r}."
            )
        self.name, self.include_top, self._weights = name, include_top, weights
        first = K.image_data_format() == "channels_first"
        self.channel_axis = 1 if first else -1
        if input_shape is None:
            # Without the top any size will do; with it the flat layer needs one.
            size = default_size if include_top else None
            input_shape = (3, size, size) if first else (size, size, 3)
        input_shape = tuple(input_shape)
        sizes = input_shape[1:] if first else input_shape[:-1]
        if len(input_shape) != 3 or any(s is not None and s < min_size for s in sizes):
            raise ValueError(
                f"{name}: input_shape holds height, width and channels, the first two at least "
                f"{min_size}; got {input_shape}."
            )
        self.rows = sizes[0]
        self.inputs: Any = input_tensor
        if input_tensor is None:
            self.inputs = Input(shape=input_shape)
        elif not K.is_keras_tensor(input_tensor):
            self.inputs = Input(tensor=input_tensor, shape=input_shape)

    def pooled(self, x: Any, pooling: str | None) -> Any:
        """The end without a top: as it is, or "avg" or "max" over height and width."""
        if pooling is None:
            return x
        if pooling not in ("avg", "max"):
            raise ValueError(f"{self.name}: pooling is None, 'avg' or 'max', got {pooling!r}.")
        kind = GlobalAveragePooling2D if pooling == "avg" else GlobalMaxPooling2D
        return kind()(x)

    def model(self, x: Any, name: str | None = None) -> Model:
        """The model, with its weights."""
        made = Model(self.inputs, x, name=name or self.name.lower())
        if self._weights is not None:
            made.load_weights(self._weights)
        return made
