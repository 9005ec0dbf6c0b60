"""Tables of vocabularies: ids of words and words of ids, from tensors and files."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.lookup_tables import HashTable, StaticHashTable, Table
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)


class HasherSpec(NamedTuple):
    """How keys that are out of vocabulary are hashed: the name of the hash, and its key."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """Keys out of vocabulary are hashed by SipHash under ``key``, two numbers."""

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2 or not all(isinstance(k, int) for k in key):
            raise ValueError(f"key must be a list of 2 integers, got {key!r}")
        return super().__new__(cls, "stronghash", list(key))


class IdTableWithHashBuckets(Table):
    """A table of ids whose unknown keys share ``num_oov_buckets`` more ids, by their hash."""

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if num_oov_buckets and not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec!r}")
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
        from dataflow.ops.math import cast, equal
        from dataflow.ops.selection import where
        from dataflow.ops.string import as_string
        from dataflow.ops.string_hash import (
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
            if self._hasher.hasher not in ("fasthash", "stronghash"):
                raise ValueError(f"Unknown hasher {self._hasher.hasher}: fasthash or stronghash")
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
    dtype: DTypeLike = dtypes.string,
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
        from dataflow.ops.math import cast
        from dataflow.ops.sequences import range_
        from dataflow.ops.shape import size

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
    from dataflow.ops.math import cast
    from dataflow.ops.sequences import range_
    from dataflow.ops.shape import size

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
