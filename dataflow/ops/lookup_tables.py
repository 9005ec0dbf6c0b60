"""Lookup tables as objects: filled once, or as the graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.lookup import (
    hash_table_op,
    lookup_table_export_op,
    lookup_table_find_op,
    lookup_table_insert_op,
    lookup_table_remove_op,
    lookup_table_size_op,
    mutable_hash_table_of_tensors_op,
    mutable_hash_table_op,
)
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.static_value import static_value
from dataflow.shapes import list_dims


class Table:
    """What all tables share: handle, dtypes, lookups."""

    _default_value: Tensor
    resource_handle: Any

    def __init__(self, handle: Tensor, key_dtype: DType, value_dtype: DType, name: str) -> None:
        self.resource_handle = handle
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self._name = name

    @property
    def name(self) -> str:
        """The table's name."""
        return self._name

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not there."""
        return self._default_value

    def size(self, name: str | None = None) -> Tensor:
        """How many keys the table has, int64."""
        with op_scope(name, f"{self._name}_Size", [self.resource_handle]):
            return lookup_table_size_op(self.resource_handle)  # type: ignore[no-any-return]

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of ``keys`` (a tensor or a SparseTensor), the default for missing ones."""
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values, name), keys.dense_shape)
        with op_scope(name, f"{self._name}_Lookup", [self.resource_handle, keys]):
            keys = convert_to_tensor(keys, name="keys") if not isinstance(keys, Tensor) else keys
            if keys.dtype.base_dtype is not self.key_dtype:
                raise TypeError(
                    f"Dtype of argument `keys` must be {self.key_dtype.name}, "
                    f"received: {keys.dtype.name}"
                )
            return lookup_table_find_op(self.resource_handle, keys, self._default_value)

    def __getitem__(self, keys: TensorLike) -> Any:
        return self.lookup(keys)

    def export(self, name: str | None = None) -> Any:
        """``(keys, values)``: all that the table holds."""
        with op_scope(name, f"{self._name}_lookup_table_export_values", [self.resource_handle]):
            keys, values = lookup_table_export_op(
                self.resource_handle, Tkeys=self.key_dtype, Tvalues=self.value_dtype
            )
            if self._default_value.dims is not None:
                values.set_shape((None, *self._default_value.dims))
            return keys, values


def _short_name(op: Operation) -> str:
    return str(op.name.rsplit("/", 1)[-1])


class StaticHashTable(Table):
    """A table filled once by its initializer, run by ``tf.tables_initializer()``.

    Looking up before that is a `FailedPreconditionError`.
    """

    def __init__(
        self, initializer: Any, default_value: Any, name: str | None = None, shared_name: Any = None
    ) -> None:
        default = default_value
        if not isinstance(default, Tensor):
            default = convert_to_tensor(default, initializer.value_dtype)
        if default.dims not in (None, ()):
            raise ValueError("the default value of a table must be a scalar")
        shared = getattr(initializer, "_shared_name", "") if shared_name is None else shared_name
        handle = hash_table_op(
            key_dtype=initializer.key_dtype,
            value_dtype=initializer.value_dtype,
            shared_name=shared or "",
            name=name or "hash_table",
        )
        super().__init__(
            handle, initializer.key_dtype, initializer.value_dtype, _short_name(handle.op)
        )
        self._default_value = default
        #: What fills it: the initializer that it was given.
        self.source = initializer
        self.initializer = initializer.initialize(self)
        default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.initializer)

    @property
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer


class HashTable(StaticHashTable):
    """The older name of `StaticHashTable`."""

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: Any = None, name: Any = None
    ) -> None:
        super().__init__(initializer, default_value, name, shared_name)


class MutableHashTable(Table):
    """A table that the graph itself changes: ``insert``, ``remove``, ``lookup``.

    With ``checkpoint``, savers of all variables save its keys and values, too.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        **_: Any,
    ) -> None:
        key, value = as_dtype(key_dtype), as_dtype(value_dtype)
        default = convert_to_tensor(default_value, value)
        if default.dims:
            handle = mutable_hash_table_of_tensors_op(
                key_dtype=key,
                value_dtype=value,
                value_shape=default.dims,
                shared_name=shared_name or "",
                name=name,
            )
        else:
            handle = mutable_hash_table_op(
                key_dtype=key, value_dtype=value, shared_name=shared_name or "", name=name
            )
        super().__init__(handle, key, value, _short_name(handle.op))
        self._default_value = default
        #: Its tensors in a checkpoint have this name and "-keys", "-values".
        self.checkpoint_name = name
        if checkpoint:
            collection = default_graph().get_collection_ref(GraphKeys.SAVEABLE_OBJECTS)
            if name in [getattr(other, "checkpoint_name", None) for other in collection]:
                self.checkpoint_name = handle.op.name
            collection.append(self)

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Any:
        """The operation that puts keys with their values into the table."""
        with op_scope(name, f"{self._name}_lookup_table_insert", [self.resource_handle]):
            keys = convert_to_tensor(keys, self.key_dtype, "keys")
            values = convert_to_tensor(values, self.value_dtype, "values")
            return lookup_table_insert_op(self.resource_handle, keys, values)

    def remove(self, keys: TensorLike, name: str | None = None) -> Any:
        """The operation that takes keys out of the table."""
        with op_scope(name, f"{self._name}_lookup_table_remove", [self.resource_handle]):
            keys = convert_to_tensor(keys, self.key_dtype, "keys")
            return lookup_table_remove_op(self.resource_handle, keys)


class MutableDenseHashTable(MutableHashTable):
    """A `MutableHashTable` in which two keys may not occur: ``empty_key`` and ``deleted_key``.

    TensorFlow marks free places with them, so that its programs choose keys that they do not need; here
    they are refused, and nothing else. Keys are scalars. ``initial_num_buckets``: how many places TensorFlow starts with, a
    power of two; a table grows by itself. Raises `ValueError` for keys that are equal or of another shape
    or number; in a run, `InvalidArgumentError` for a key that may not occur.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        if initial_num_buckets is not None and (
            initial_num_buckets < 1 or initial_num_buckets & (initial_num_buckets - 1)
        ):
            raise ValueError(
                f"initial_num_buckets must be a power of two, got {initial_num_buckets}"
            )
        super().__init__(key_dtype, value_dtype, default_value, shared_name, name, checkpoint)
        self._reserved = {
            what: convert_to_tensor(key, self.key_dtype, what)
            for what, key in (("empty_key", empty_key), ("deleted_key", deleted_key))
        }
        empty, deleted = self._reserved.values()
        if empty.dims != deleted.dims:
            raise ValueError(
                "Empty and deleted keys must have same shape, got "
                f"{list_dims(empty.dims)} and {list_dims(deleted.dims)}"
            )
        values = [static_value(key) for key in (empty, deleted)]
        if values[0] is not None and np.array_equal(*values):
            raise ValueError("Empty and deleted keys cannot be equal")
        for what, key in self._reserved.items():
            if key.dims != ():
                raise ValueError(
                    f"{what} has shape {list_dims(key.dims)}; keys are scalars here: join the "
                    "numbers of a key to a text with tf.as_string and tf.reduce_join"
                )

    def _allowed(self, keys: TensorLike) -> Any:
        """The keys, after a check that none of them is reserved."""
        from dataflow.ops.comparison import equal, logical_not_op as logical_not
        from dataflow.ops.control_flow import with_dependencies
        from dataflow.ops.logging_ops import Assert
        from dataflow.ops.math import reduce_any

        keys = convert_to_tensor(keys, self.key_dtype, "keys")
        checks = []
        for what, key in self._reserved.items():
            message = f"Using the {what} as a table key is not allowed"
            checks.append(Assert(logical_not(reduce_any(equal(keys, key))), [message]))
        return with_dependencies(checks, keys) if checks else keys

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of ``keys``, the default for missing ones."""
        if not isinstance(keys, SparseTensor):
            keys = self._allowed(keys)
        return super().lookup(keys, name)

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Any:
        """The operation that puts keys with their values into the table."""
        return super().insert(self._allowed(keys), values, name)

    def remove(self, keys: TensorLike, name: str | None = None) -> Any:
        """The operation that takes keys out of the table."""
        return super().remove(self._allowed(keys), name)


class DenseHashTable(MutableDenseHashTable):
    """`MutableDenseHashTable` as `tf.lookup.experimental` has it: both reserved keys must be given."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(
            key_dtype,
            value_dtype,
            default_value,
            empty_key,
            deleted_key,
            initial_num_buckets,
            None,
            name,
            checkpoint,
        )

    def insert_or_assign(
        self, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Any:
        """As `insert`: the values of keys that are there already are replaced."""
        return self.insert(keys, values, name)

    def erase(self, keys: TensorLike, name: str | None = None) -> Any:
        """As `remove`."""
        return self.remove(keys, name)


def tables_initializer(name: str = "init_all_tables") -> Any:
    """The operation that fills all tables of the default graph."""
    from dataflow.ops.control_flow import group, no_op

    initializers = default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    if initializers:
        return group(*initializers, name=name)
    return no_op(name=name)


initialize_all_tables = tables_initializer
