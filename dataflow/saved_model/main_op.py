"""``tf.saved_model.main_op``: what runs when a SavedModel has been loaded."""

from __future__ import annotations

from typing import Any

from dataflow.ops.control_flow import group
from dataflow.ops.lookup_tables import tables_initializer
from dataflow.ops.variable_lists import global_variables_initializer, local_variables_initializer


def main_op() -> Any:
    """An operation that initializes variables and tables."""
    return group(
        global_variables_initializer(), local_variables_initializer(), tables_initializer()
    )
