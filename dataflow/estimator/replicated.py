"""Training with a `tf.distribute.Strategy`: the model function once for each replica."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.data.dataset import Dataset
from dataflow.distribute.distributed_input import DistributedDataset
from dataflow.distribute.strategy import get_loss_reduction
from dataflow.distribute.values import PerReplica
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.control_flow import group
from dataflow.runtime.config import ConfigProto


@contextlib.contextmanager
def scope_of(strategy: Any) -> Iterator[None]:
    """The strategy's scope, in which losses are means over the replicas; nothing for ``None``."""
    if strategy is None:
        yield
        return
    before, strategy.averages_losses = strategy.averages_losses, True
    try:
        with strategy.scope():
            yield
    finally:
        strategy.averages_losses = before


def settings_for(strategy: Any, session_config: Any) -> Any:
    """The session's settings, with the devices that the strategy names."""
    if strategy is None:
        return session_config
    return strategy.update_config_proto(session_config or ConfigProto(allow_soft_placement=True))


class _Held:
    """Keeps a replica's spec whole: structures of replicas are taken apart."""

    def __init__(self, spec: EstimatorSpec) -> None:
        self.spec = spec


def replicated_spec(
    strategy: Any, make_input: Callable[[], Any], call_model_fn: Callable[[Any, Any], Any]
) -> EstimatorSpec:
    """One spec for all replicas: their losses' mean (or sum), and a train op that runs all.

    Each replica gets a batch of its own; hooks and the scaffold are the first replica's. Raises
    `ValueError` where the input function returns no dataset.
    """
    dataset = make_input()
    if not isinstance(dataset, Dataset):
        raise ValueError(
            "With train_distribute, input_fn must return a tf.data.Dataset, from which each replica "
            f"gets batches; it returned {type(dataset).__name__}."
        )
    count = strategy.num_replicas_in_sync
    iterator = DistributedDataset(dataset, count, cut=False).make_initializable_iterator()
    default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    batch = iterator.get_next()
    features, labels = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)

    def build(x: TensorLike, y: TensorLike) -> tuple[Any, Any, Any]:
        spec = call_model_fn(x, y)
        return spec.loss, spec.train_op, _Held(spec)

    losses, train_ops, held = strategy.extended.call_for_each_replica(build, (features, labels))
    loss = strategy.reduce(get_loss_reduction(), losses)
    operations = train_ops.values if isinstance(train_ops, PerReplica) else (train_ops,)
    first: Any = (held.values[0] if isinstance(held, PerReplica) else held).spec
    result: EstimatorSpec = first._replace(loss=loss, train_op=group(*operations))
    return result
