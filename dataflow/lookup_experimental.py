"""`tf.lookup.experimental`: tables that change as the graph runs."""

from dataflow.namespaces import explain_absent
from dataflow.ops.lookup_tables import DenseHashTable, MutableHashTable

__all__ = ["DenseHashTable", "MutableHashTable"]

__getattr__ = explain_absent(__name__)
