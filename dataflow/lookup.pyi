from dataflow import lookup_experimental as experimental
from dataflow.ops.lookup_tables import StaticHashTable as StaticHashTable
from dataflow.ops.table_initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from dataflow.ops.vocabulary_tables import StaticVocabularyTable as StaticVocabularyTable
