"""`tf.contrib.lookup`: tables between words and numbers."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.ops.lookup import (
    FastHashSpec,
    HashTable,
    IdTableWithHashBuckets,
    KeyValueTensorInitializer,
    MutableDenseHashTable,
    MutableHashTable,
    StrongHashSpec,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
)

#: Older names.
string_to_index_table_from_file = index_table_from_file
string_to_index_table_from_tensor = index_table_from_tensor

__all__ = [
    "FastHashSpec",
    "HashTable",
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
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]

__getattr__ = explain_absent(__name__)
