"""`tf.contrib.lookup`: tables between words and numbers."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.ops.lookup import HashTable, MutableDenseHashTable, MutableHashTable
from dataflow.ops.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
)
from dataflow.ops.vocabulary_tables import (
    FastHashSpec,
    IdTableWithHashBuckets,
    StrongHashSpec,
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
