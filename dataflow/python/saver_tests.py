"""``training.saver_test_utils``: a table with a way of its own to be saved, and ``saver``'s classes of such ways."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import float32, string
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.python import op_functions as ops
from dataflow.train.saveables import SaveableObject, SaveSpec, VariableSaveable

__all__ = ["BaseSaverBuilder", "CheckpointedOp"]


class BaseSaverBuilder:
    """Where programs find the classes that they derive theirs from, of what a `tf.train.Saver` saves."""

    SaveSpec = SaveSpec
    SaveableObject = SaveableObject
    VariableSaveable = VariableSaveable


class CheckpointedOp:
    """A table from strings to float32 numbers; ``saveable`` is what a `tf.train.Saver` is given of it."""

    def __init__(self, name: str, table_ref: Any = None) -> None:
        if table_ref is None:
            table_ref = ops.mutable_hash_table_v2(key_dtype=string, value_dtype=float32, name=name)
        self.table_ref, self.name = table_ref, name
        self._saveable: Any = None
        if not default_graph().executes_eagerly:
            self._saveable = self.CustomSaveable(self, name)
            default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    @property
    def saveable(self) -> Any:
        """How it is saved; made anew each time in eager mode."""
        return self.CustomSaveable(self, self.name) if self._saveable is None else self._saveable

    def insert(self, keys: Any, values: Any) -> Any:
        """The op that puts values (float32) under keys (strings)."""
        return ops.lookup_table_insert_v2(self.table_ref, keys, values)

    def lookup(self, keys: Any, default: Any) -> Any:
        """The values under ``keys``."""
        return ops.lookup_table_find_v2(self.table_ref, keys, default)

    def exported(self) -> Any:
        """(keys, values) of the whole table."""
        return ops.lookup_table_export_v2(self.table_ref, string, float32)

    def keys(self) -> Any:
        """All keys."""
        return self.exported()[0]

    def values(self) -> Any:
        """All values, in the order of the keys."""
        return self.exported()[1]

    class CustomSaveable(SaveableObject):
        """Saves the table as two tensors, its keys and its values."""

        def __init__(self, table: Any, name: str) -> None:
            keys, values = table.exported()
            specs = [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")]
            super().__init__(table, specs, name)

        def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
            """The op that fills the table."""
            return ops.lookup_table_import_v2(
                self.op.table_ref, restored_tensors[0], restored_tensors[1]
            )
