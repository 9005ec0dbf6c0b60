"""Names of the standard collections of a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


class GraphKeys:
    """Keys of the collections that the library itself fills, as in TensorFlow 1."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = "variables"
    """The old name of GLOBAL_VARIABLES."""


#: What a function makes in its graph is there for the whole program: variables, tables and other resources.
_SHARED = frozenset(
    {
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
        GraphKeys.GLOBAL_STEP,
        GraphKeys.TABLE_INITIALIZERS,
        GraphKeys.SAVEABLE_OBJECTS,
        GraphKeys.RESOURCES,
        GraphKeys.LOCAL_RESOURCES,
        GraphKeys.QUEUE_RUNNERS,
        GraphKeys.SAVERS,
        GraphKeys.ASSET_FILEPATHS,
    }
)


@contextlib.contextmanager
def collections_of_function(graph: Any) -> Iterator[None]:
    """A block of a function's nodes: it sees the graph's collections, and what it adds is forgotten when it ends.

    Not so variables and resources, nor what the library keeps under names that begin with ``_``.
    """

    def is_shared(name: Any) -> bool:
        return name in _SHARED or not isinstance(name, str) or name.startswith("_")

    outer = graph.exchange_collections({})
    inner = {name: items if is_shared(name) else list(items) for name, items in outer.items()}
    graph.exchange_collections(inner)
    try:
        yield
    finally:
        outer.update({name: items for name, items in inner.items() if is_shared(name)})
        graph.exchange_collections(outer)
