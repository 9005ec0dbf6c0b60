"""``slim.tfexample_decoder``: items (an image, boxes, a label) of serialized `tf.train.Example`s.

A decoder parses the features of a message; a handler for each item makes the item's tensor of the
features that its keys name.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from dataflow import dtypes, image as images
from dataflow.contrib.slim.data_decoder import DataDecoder
from dataflow.graph.type_aliases import DTypeLike
from dataflow.namespaces import explain_absent
from dataflow.ops.array import concat, reshape, size, stack, transpose
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal
from dataflow.ops.conditionals import cond
from dataflow.ops.functional import map_fn
from dataflow.ops.math import logical_or
from dataflow.ops.parsing import FixedLenFeature, decode_raw, parse_single_example
from dataflow.ops.sequence_parsing import parse_single_sequence_example
from dataflow.ops.sparse import sparse_reshape, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor as SparseValues

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "TFSequenceExampleDecoder",
    "Tensor",
]

__getattr__ = explain_absent(__name__)


def _dense(tensor: Any, default: Any = 0) -> Any:
    return sparse_tensor_to_dense(tensor, default) if isinstance(tensor, SparseValues) else tensor


class ItemHandler(abc.ABC):
    """Makes one item of the features that ``keys`` (a name, or several) name."""

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> Any:
        """The names of the features."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item, of a dictionary from the names of features to tensors."""


class ItemHandlerCallback(ItemHandler):
    """An item that ``func(keys_to_tensors)`` makes."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """What ``func`` gives for the features of this handler's keys."""
        return self._func({key: keys_to_tensors[key] for key in self._keys})


class BoundingBox(ItemHandler):
    """Boxes, float32 of shape (boxes, 4): ``ymin, xmin, ymax, xmax``, each a feature of its own.

    ``keys`` names four features in this order, each with ``prefix`` before its name.
    """

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        self._full_keys = [prefix + key for key in keys]
        super().__init__(self._full_keys)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The boxes."""
        sides = []
        for key in self._full_keys:
            side = keys_to_tensors[key]
            side = side.values if isinstance(side, SparseValues) else side
            sides.append(reshape(side, [1, -1]))
        return transpose(concat(sides, 0))


class Tensor(ItemHandler):
    """A feature as it is, in a fixed ``shape`` or one that features (``shape_keys``) hold.

    A sparse feature becomes dense with ``default_value``, unless a shape is given for it: then it is
    reshaped first. Raises `ValueError` when both shapes are given.
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        if shape_keys and not isinstance(shape_keys, list):
            shape_keys = [shape_keys]
        self._tensor_key = tensor_key
        self._shape_keys = shape_keys
        self._shape = shape
        self._default_value = default_value
        super().__init__([tensor_key, *(shape_keys or [])])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The dense tensor."""
        tensor = keys_to_tensors[self._tensor_key]
        wanted = self._shape
        if self._shape_keys:
            wanted = reshape(stack([_dense(keys_to_tensors[k]) for k in self._shape_keys]), [-1])
        if not isinstance(tensor, SparseValues):
            return tensor if wanted is None else reshape(tensor, wanted)
        if wanted is not None:
            tensor = sparse_reshape(tensor, wanted)
        return sparse_tensor_to_dense(tensor, self._default_value)


class LookupTensor(Tensor):
    """A `Tensor` whose values are looked up in a table (class names that become numbers)."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The table's values."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """``handler``'s item, or ``backup``'s where the first has no elements.

    Raises `ValueError` for something that is no handler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for given in (handler, backup):
            if not isinstance(given, ItemHandler):
                raise ValueError(
                    f"Handlers need to be instances of ItemHandler, not {type(given).__name__}."
                )
        self._handler = handler
        self._backup = backup
        super().__init__(list(handler.keys) + list(backup.keys))

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item of whichever handler has one."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            equal(size(item), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A `tf.SparseTensor` of two features: column numbers and values; dense with ``densify``.

    Its shape is that of the feature ``shape_key``, ``shape``, or that of the column numbers.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self._shape = shape
        self._densify = densify
        self._default_value = default_value
        keys = [self._indices_key, self._values_key]
        super().__init__(keys + ([shape_key] if shape_key else []))

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The sparse (or dense) tensor."""
        columns = keys_to_tensors[self._indices_key]
        values = keys_to_tensors[self._values_key]
        if self._shape_key:
            whole = _dense(keys_to_tensors[self._shape_key])
        else:
            whole = self._shape if self._shape else columns.dense_shape
        rows = columns.indices[:, :-1]
        numbers = reshape(cast(columns.values, dtypes.int64), [-1, 1])
        found = SparseValues(concat([rows, numbers], 1), values.values, cast(whole, dtypes.int64))
        return sparse_tensor_to_dense(found, self._default_value) if self._densify else found


class Image(ItemHandler):
    """An image of its encoded bytes: JPEG, PNG, GIF or BMP, or ``raw`` bytes of the ``dtype``.

    The item has shape (height, width, ``channels``), or ``shape``; with ``repeated`` the feature is a
    list of images of one size, stacked.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: DTypeLike = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        self._shape = shape
        self._channels = channels
        self._dtype = dtypes.as_dtype(dtype)
        self._repeated = repeated
        self._dct_method = dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The image, or the stack of images."""
        encoded = keys_to_tensors[self._image_key]
        kind = keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda one: self._decode(one, kind), encoded, dtype=self._dtype)
        return self._decode(encoded, kind)

    def _decode(self, encoded: Any, kind: Any) -> Any:
        def picture() -> Any:
            # Reads each format by its first bytes; JPEG apart, as only it takes a method.
            found = cond(
                images.is_jpeg(encoded),
                lambda: images.decode_jpeg(encoded, self._channels, dct_method=self._dct_method),
                lambda: images.decode_image(encoded, self._channels),
            )
            return cast(found, self._dtype)

        is_raw = logical_or(equal(kind, "raw"), equal(kind, "RAW"))
        found = cond(is_raw, lambda: decode_raw(encoded, self._dtype), picture)
        if self._shape is None:
            found.set_shape([None, None, self._channels])
            return found
        return reshape(found, self._shape)


def _items(handlers: dict[str, ItemHandler], items: Any, features: dict[str, Any]) -> list[Any]:
    made = []
    for item in handlers if items is None else items:
        if item not in handlers:
            raise ValueError(f"Item {item!r} has no handler: there are {list(handlers)}.")
        handler = handlers[item]
        made.append(handler.tensors_to_item({key: features[key] for key in handler.keys}))
    return made


class TFExampleDecoder(DataDecoder):
    """Items of a serialized `tf.train.Example`: ``items_to_handlers`` of ``keys_to_features``."""

    def __init__(
        self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, ItemHandler]
    ) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """The names of the items."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        """The tensors of the ``items`` (None: all), of one message: a string of shape ()."""
        features = parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            if isinstance(self._keys_to_features[key], FixedLenFeature):
                features[key] = reshape(features[key], self._keys_to_features[key].shape)
        return _items(self._items_to_handlers, items, features)


class TFSequenceExampleDecoder(DataDecoder):
    """Items of a serialized `tf.train.SequenceExample`.

    Raises `ValueError` for a key that is both of the context and of the sequences.
    """

    def __init__(
        self,
        keys_to_context_features: dict[str, Any],
        keys_to_sequence_features: dict[str, Any],
        items_to_handlers: dict[str, ItemHandler],
    ) -> None:
        both = set(keys_to_context_features) & set(keys_to_sequence_features)
        if both:
            raise ValueError(f"Context and sequence features have the same keys: {sorted(both)}.")
        self._keys_to_context_features = keys_to_context_features
        self._keys_to_sequence_features = keys_to_sequence_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """The names of the items."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        """The tensors of the ``items`` (None: all), of one message: a string of shape ()."""
        context, sequences = parse_single_sequence_example(
            serialized_example,
            context_features=self._keys_to_context_features or None,
            sequence_features=self._keys_to_sequence_features or None,
        )
        features = {**context, **sequences}
        for key, feature in self._keys_to_context_features.items():
            if isinstance(feature, FixedLenFeature):
                features[key] = reshape(features[key], feature.shape)
        return _items(self._items_to_handlers, items, features)
