"""`tf.contrib.lookup`: tables between words and numbers."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.namespaces import explain_absent
from dataflow.ops.lookup_tables import HashTable, MutableDenseHashTable, MutableHashTable
from dataflow.ops.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
)
from dataflow.ops.vocabulary_tables import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    StrongHashSpec,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
)


def string_to_index(
    tensor: TensorLike, mapping: TensorLike, default_value: int = -1, name: str | None = None
) -> Any:
    """The place of each text in the vector ``mapping``, int64; ``default_value`` for others."""
    table = index_table_from_tensor(mapping, default_value=default_value)
    return table.lookup(tensor, name)


def index_to_string(
    tensor: TensorLike, mapping: TensorLike, default_value: str = "UNK", name: str | None = None
) -> Any:
    """The text of the vector ``mapping`` at each place; ``default_value`` at others."""
    table = index_to_string_table_from_tensor(mapping, default_value=default_value)
    return table.lookup(tensor, name)


#: Older names.
string_to_index_table_from_file = index_table_from_file
string_to_index_table_from_tensor = index_table_from_tensor

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]

__getattr__ = explain_absent(__name__)
