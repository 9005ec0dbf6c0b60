"""Lookup tables: resources that map keys to values, filled once or as the graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.array_basics import need_rank
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import Dims

_TABLE = (
    "container: str = '', shared_name: str = '', use_node_name_sharing: bool = False, "
    "key_dtype: DType, value_dtype: DType"
)

hash_table_op = declare_op(
    "HashTableV2",
    "-> table_handle: resource",
    "The handle of a table that is filled once. Not differentiable.",
    attrs=_TABLE,
    stateful=True,
)
mutable_hash_table_op = declare_op(
    "MutableHashTableV2",
    "-> table_handle: resource",
    "The handle of a table that changes as the graph runs. Not differentiable.",
    attrs=_TABLE,
    stateful=True,
)
mutable_hash_table_of_tensors_op = declare_op(
    "MutableHashTableOfTensorsV2",
    "-> table_handle: resource",
    "As MutableHashTableV2, with values of shape ``value_shape``. Not differentiable.",
    attrs=f"{_TABLE}, value_shape: Shape = ()",
    stateful=True,
)


@define_op(
    "LookupTableImportV2", "table_handle: resource, keys: Tin, values: Tout ->", stateful=True
)
def lookup_table_import_op(table_handle: Tensor, keys: Tensor, values: Tensor) -> list[Dims]:
    """Replaces all that a table holds. Not differentiable."""
    _check_pairs(keys, values)
    return []


@define_op(
    "InitializeTableV2", "table_handle: resource, keys: Tkey, values: Tval ->", stateful=True
)
def initialize_table_op(table_handle: Tensor, keys: Tensor, values: Tensor) -> list[Dims]:
    """Fills a table that is filled once. Not differentiable."""
    need_rank(keys, 1, "the keys")
    _check_pairs(keys, values)
    return []


@define_op(
    "InitializeTableFromTextFileV2", "table_handle: resource, filename: string ->", stateful=True
)
def initialize_table_from_text_file_op(
    table_handle: Tensor,
    filename: Tensor,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int = -1,
    delimiter: str = "\t",
    offset: int = 0,
) -> list[Dims]:
    """Fills a table from the lines of a file: an index -1 is the line's number, -2 the whole line.

    Not differentiable.
    """
    need_rank(filename, 0, "the filename")
    return []


@define_op(
    "LookupTableFindV2",
    "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout",
    stateful=True,
)
def lookup_table_find_op(table_handle: Tensor, keys: Tensor, default_value: Tensor) -> Dims:
    """The values of keys, ``default_value`` for those that are not there. Not differentiable."""
    if keys.dims is None or default_value.dims is None:
        return None
    return keys.dims + default_value.dims


@define_op(
    "LookupTableInsertV2", "table_handle: resource, keys: Tin, values: Tout ->", stateful=True
)
def lookup_table_insert_op(table_handle: Tensor, keys: Tensor, values: Tensor) -> list[Dims]:
    """Puts keys into a mutable table, in place of older ones. Not differentiable."""
    _check_pairs(keys, values)
    return []


lookup_table_remove_op = declare_op(
    "LookupTableRemoveV2",
    "table_handle: resource, keys: Tin ->",
    "Takes keys out of a mutable table. Not differentiable.",
    stateful=True,
)
lookup_table_size_op = declare_op(
    "LookupTableSizeV2",
    "table_handle: resource -> size: int64",
    "How many keys a table has. Not differentiable.",
    stateful=True,
)
lookup_table_export_op = declare_op(
    "LookupTableExportV2",
    "table_handle: resource -> keys: Tkeys, values: Tvalues",
    "All keys and values of a table. Not differentiable.",
    [(None,), None],
    attrs="Tkeys: DType, Tvalues: DType",
    stateful=True,
)


not_differentiable(
    lookup_table_import_op,
    initialize_table_op,
    initialize_table_from_text_file_op,
    lookup_table_find_op,
    lookup_table_insert_op,
)


def _check_pairs(keys: Tensor, values: Tensor) -> None:
    if keys.dims is not None and values.dims is not None:
        if not shapes.compatible(keys.dims, values.dims[: len(keys.dims)]):
            raise ValueError(
                f"{shapes.list_dims(keys.dims)} keys for {shapes.list_dims(values.dims)} values"
            )


class TextFileIndex:
    """Which part of a line is a key or value: ``WHOLE_LINE``, ``LINE_NUMBER``, or a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """Fills a table from two tensors of one length."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._keys = convert_to_tensor(keys, key_dtype, "keys")
        self._values = convert_to_tensor(values, value_dtype, "values")
        self._name = name if name is not None else "key_value_init"
        self.key_dtype = self._keys.dtype.base_dtype
        self.value_dtype = self._values.dtype.base_dtype

    def initialize(self, table: Any) -> Any:
        """The operation that fills ``table``."""
        _check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with op_scope(None, self._name, [table.resource_handle, self._keys, self._values]):
            return lookup_table_import_op(table.resource_handle, self._keys, self._values)


class TextFileInitializer:
    """Fills a table from the lines of a text file."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("Filename required")
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        for what, index, dtype in (
            ("key", key_index, self.key_dtype),
            ("value", value_index, self.value_dtype),
        ):
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(f"the {what} is a line number, so its dtype is int64, not {dtype}")
            if (
                index == TextFileIndex.WHOLE_LINE
                and what == "key"
                and not (dtype.is_integer or dtype is dtypes.string)
            ):
                raise ValueError(f"a whole line as {what} is a string or an integer, not {dtype}")
            if index < -2:
                raise ValueError(f"Invalid {what} index {index}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}")
        if key_index == value_index and key_index >= 0:
            raise ValueError("key_index and value_index must be different columns")
        self._filename = filename
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter = vocab_size, delimiter
        self._name = name if name is not None else "text_file_init"
        self._offset = value_index_offset

    @property
    def _shared_name(self) -> str:
        size = "" if self._vocab_size is None else self._vocab_size
        return f"hash_table_{self._filename}_{size}_{self._key_index}_{self._value_index}"

    def initialize(self, table: Any) -> Any:
        """The operation that fills ``table``."""
        _check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with op_scope(None, self._name, [table.resource_handle]):
            filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            op = initialize_table_from_text_file_op(
                table.resource_handle,
                filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return op


class TextFileStringTableInitializer(TextFileInitializer):
    """Line number -> whole line."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Whole line -> line number."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


def _check_table_dtypes(table: Any, key_dtype: DType, value_dtype: DType) -> None:
    if table.key_dtype is not key_dtype or table.value_dtype is not value_dtype:
        raise TypeError(
            f"Invalid key/value dtypes: the table maps {table.key_dtype.name} to "
            f"{table.value_dtype.name}, the initializer {key_dtype.name} to {value_dtype.name}"
        )


class _Table:
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

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def export(self, name: str | None = None) -> Any:
        """``(keys, values)``: all that the table holds."""
        with op_scope(name, f"{self._name}_lookup_table_export_values", [self.resource_handle]):
            return lookup_table_export_op(
                self.resource_handle, Tkeys=self.key_dtype, Tvalues=self.value_dtype
            )


def _short_name(op: Any) -> str:
    return str(op.name.rsplit("/", 1)[-1])


class StaticHashTable(_Table):
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


class MutableHashTable(_Table):
    """A table that the graph itself changes: ``insert``, ``remove``, ``lookup``."""

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

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """The operation that puts keys with their values into the table."""
        with op_scope(name, f"{self._name}_lookup_table_insert", [self.resource_handle]):
            keys = convert_to_tensor(keys, self.key_dtype, "keys")
            values = convert_to_tensor(values, self.value_dtype, "values")
            return lookup_table_insert_op(self.resource_handle, keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """The operation that takes keys out of the table."""
        with op_scope(name, f"{self._name}_lookup_table_remove", [self.resource_handle]):
            keys = convert_to_tensor(keys, self.key_dtype, "keys")
            return lookup_table_remove_op(self.resource_handle, keys)


class MutableDenseHashTable(MutableHashTable):
    """A `MutableHashTable`; the empty and deleted keys that TensorFlow needs are not used."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any = None,
        deleted_key: Any = None,
        initial_num_buckets: Any = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, shared_name, name)


class FastHashSpec:
    """Keys out of vocabulary are hashed by FarmHash."""

    hasher, key = "fasthash", None


class StrongHashSpec:
    """Keys out of vocabulary are hashed by SipHash under ``key``, two numbers."""

    hasher = "stronghash"

    def __init__(self, key: Any) -> None:
        if len(key) != 2 or not all(isinstance(k, int) for k in key):
            raise ValueError(f"key must be a list of 2 integers, got {key!r}")
        self.key = list(key)


class IdTableWithHashBuckets(_Table):
    """A table of ids whose unknown keys share ``num_oov_buckets`` more ids, by their hash."""

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None and not num_oov_buckets:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        key = (
            as_dtype(key_dtype)
            if key_dtype is not None
            else (table.key_dtype if table is not None else dtypes.string)
        )
        if not (key is dtypes.string or key.is_integer):
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key.name}.")
        self._table, self._num_oov_buckets, self._hasher = table, num_oov_buckets, hasher_spec
        self.key_dtype, self.value_dtype = key, dtypes.int64
        self._name = name or ("hash_bucket" if table is None else table.name)
        self.resource_handle = None if table is None else table.resource_handle

    @property
    def initializer(self) -> Any:
        """The operation that fills the table."""
        if self._table is not None:
            return self._table.initializer
        from dataflow.ops.control_flow import no_op

        return no_op()

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids, buckets included."""
        with op_scope(name, f"{self._name}_Size"):
            inside = constant(np.int64(0)) if self._table is None else self._table.size()
            return inside + constant(np.int64(self._num_oov_buckets))  # type: ignore[no-any-return]

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The ids of ``keys``; unknown ones get a bucket's."""
        from dataflow.ops.gather_scatter import where
        from dataflow.ops.math import cast, equal
        from dataflow.ops.string import (
            as_string,
            string_to_hash_bucket_fast,
            string_to_hash_bucket_strong,
        )

        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values, name), keys.dense_shape)
        with op_scope(name, f"{self._name}_Lookup", [keys]):
            keys = convert_to_tensor(keys)
            if keys.dtype.base_dtype is not self.key_dtype:
                raise TypeError(
                    f"Dtype of argument `keys` must be {self.key_dtype.name}, "
                    f"received: {keys.dtype.name}"
                )
            if not self._num_oov_buckets:
                return self._table.lookup(keys)
            text = keys
            if keys.dtype.base_dtype is not dtypes.string:
                text = as_string(cast(keys, dtypes.int64))
            if self._hasher.key is not None:
                buckets = string_to_hash_bucket_strong(
                    text, self._num_oov_buckets, self._hasher.key
                )
            else:
                buckets = string_to_hash_bucket_fast(text, self._num_oov_buckets)
            if self._table is None:
                return buckets
            if self._table.key_dtype is dtypes.int64 and keys.dtype.base_dtype is not dtypes.int64:
                keys = cast(keys, dtypes.int64)
            ids = self._table.lookup(keys)
            unknown = equal(ids, self._table.default_value)
            return where(unknown, buckets + self._table.size(), ids)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """String to id, filled once, with hash buckets for words that are not in the vocabulary."""

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0")
        if initializer is not None and initializer.value_dtype is not dtypes.int64:
            raise TypeError(
                f"Invalid `value_dtype`, expected int64 but got {initializer.value_dtype.name}."
            )
        table = None if initializer is None else StaticHashTable(initializer, -1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


def index_table_from_tensor(
    vocabulary_list: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
    mapping: Any = None,
) -> Any:
    """A table from the words of ``vocabulary_list`` to their places in it.

    Unknown words get ``default_value``, or with ``num_oov_buckets`` one of that many ids after the
    vocabulary's. (``mapping`` is the older name of ``vocabulary_list``.)
    """
    words = vocabulary_list if vocabulary_list is not None else mapping
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    dtype = as_dtype(dtype)
    if not (dtype is dtypes.string or dtype.is_integer):
        raise TypeError("Only integer and string keys are supported.")
    with op_scope(name, "string_to_index"):
        keys = convert_to_tensor(words)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(f"Expected {dtype.name} vocabulary, got {keys.dtype.name}")
        if dtype.is_integer and keys.dtype.base_dtype is not dtypes.int64:
            from dataflow.ops.math import cast

            keys = cast(keys, dtypes.int64)
        from dataflow.ops.array_basics import size
        from dataflow.ops.math import cast
        from dataflow.ops.sequences import range_

        values = cast(range_(size(keys)), dtypes.int64)
        table: Any = HashTable(
            KeyValueTensorInitializer(keys, values, name="table_init"),
            default_value,
            name="hash_table",
        )
        if num_oov_buckets:
            table = IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=dtype)
        return table


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """A table from the lines of a file to their numbers; see `index_table_from_tensor`."""
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    key_dtype = as_dtype(key_dtype)
    with op_scope(name, "string_to_index"):
        initializer = TextFileIdTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
            dtypes.int64 if key_dtype.is_integer else key_dtype,
        )
        table: Any = HashTable(initializer, default_value, name="hash_table")
        if num_oov_buckets:
            table = IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype)
        return table


def index_to_string_table_from_tensor(
    vocabulary_list: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    mapping: Any = None,
) -> HashTable:
    """A table from places to the words of ``vocabulary_list``."""
    words = vocabulary_list if vocabulary_list is not None else mapping
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    from dataflow.ops.array_basics import size
    from dataflow.ops.math import cast
    from dataflow.ops.sequences import range_

    with op_scope(name, "index_to_string"):
        values = convert_to_tensor(words, dtypes.string)
        keys = cast(range_(size(values)), dtypes.int64)
        initializer = KeyValueTensorInitializer(keys, values, name="table_init")
        return HashTable(initializer, default_value, name="hash_table")


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """A table from line numbers to the lines of a file."""
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    with op_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        return HashTable(initializer, default_value, name="hash_table")


def tables_initializer(name: str = "init_all_tables") -> Any:
    """The operation that fills all tables of the default graph."""
    from dataflow.ops.control_flow import group, no_op

    initializers = default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    if initializers:
        return group(*initializers, name=name)
    return no_op(name=name)


initialize_all_tables = tables_initializer
