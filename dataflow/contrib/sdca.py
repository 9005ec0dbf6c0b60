"""A linear model that stochastic dual coordinate ascent trains: `SdcaModel`, and its sparse features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import group
from dataflow.ops.critical_section import CriticalSection
from dataflow.ops.elementary import exp, sigmoid
from dataflow.ops.gather_scatter import gather
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.lookup_tables import MutableHashTable
from dataflow.ops.loss import log_poisson_loss, sigmoid_cross_entropy_with_logits
from dataflow.ops.math import add_n, matmul, maximum, reduce_sum, sign, square
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.sdca import LOSSES, sdca_optimizer
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.selection import boolean_mask
from dataflow.ops.sequences import unique
from dataflow.ops.state import assign, assign_add, scatter_add
from dataflow.ops.summary import scalar
from dataflow.ops.variables import Variable
from dataflow.shapes import dimension_value

_SPARSE, _DENSE = "sparse_features_weights", "dense_features_weights"


class SparseFeatureColumn:
    """A sparse feature: of each value the example (int64 [n]), the feature (int64 [n]) and the number.

    ``feature_values`` float32 [n], or None: all 1.
    """

    def __init__(
        self, example_indices: TensorLike, feature_indices: TensorLike, feature_values: Any
    ) -> None:
        with name_scope(None, "SparseFeatureColumn"):
            self._examples = convert_to_tensor(example_indices, dtypes.int64, "example_indices")
            self._features = convert_to_tensor(feature_indices, dtypes.int64, "feature_indices")
            self._values = None
            if feature_values is not None:
                self._values = convert_to_tensor(feature_values, dtypes.float32, "feature_values")

    @property
    def example_indices(self) -> Tensor:
        """The example of each value."""
        return self._examples

    @property
    def feature_indices(self) -> Tensor:
        """The feature of each value."""
        return self._features

    @property
    def feature_values(self) -> Tensor | None:
        """The values."""
        return self._values


class SdcaModel:
    """A linear model of ``examples`` with the weights ``variables``, both dicts of lists.

    ``examples``: ``sparse_features`` (`SparseFeatureColumn`), ``dense_features`` (float32 [n, d]),
    ``example_labels``, ``example_weights`` (float32 [n]) and ``example_ids`` (string [n]). ``variables``:
    ``sparse_features_weights`` and ``dense_features_weights``, vectors, or lists of their partitions.
    ``options``: ``loss_type`` (logistic_loss, squared_loss, hinge_loss, smooth_hinge_loss or poisson_loss),
    ``symmetric_l1_regularization``, ``symmetric_l2_regularization`` (below 1 it trains as with 1),
    ``num_loss_partitions``: how many train at once, ``adaptive``. One table keeps the state of examples
    whatever ``num_table_shards`` is.

    Raises `ValueError` for another loss, for a negative penalty, and where something is missing.
    """

    def __init__(
        self, examples: dict[str, Any], variables: dict[str, Any], options: dict[str, Any]
    ) -> None:
        if not examples or not variables or not options:
            raise ValueError("examples, variables and options must all be specified.")
        if options["loss_type"] not in LOSSES:
            raise ValueError(
                f"Unsupported loss_type: {options['loss_type']!r}; it is one of {', '.join(LOSSES)}."
            )
        _check(
            examples, "example_labels example_weights example_ids sparse_features dense_features"
        )
        _check(variables, f"{_SPARSE} {_DENSE}")
        for name in ("symmetric_l1_regularization", "symmetric_l2_regularization"):
            if options[name] < 0.0:
                raise ValueError(f"{name} should be non-negative. Found ({options[name]:f})")
        self._examples, self._options = examples, options
        self._sparse = [_partitions(v) for v in variables[_SPARSE]]
        self._dense = [_partitions(v) for v in variables[_DENSE]]
        self._slots = {id(v): _slot(v) for v in self._weights()}
        self._l1 = float(options["symmetric_l1_regularization"])
        self._l2 = max(float(options["symmetric_l2_regularization"]), 1.0)
        self._section = CriticalSection(name="sdca")
        self._table = MutableHashTable(dtypes.string, dtypes.float32, [0.0] * 4, name="sdca_table")
        scalar("approximate_duality_gap", self.approximate_duality_gap())
        scalar("examples_seen", self._table.size())

    def _weights(self) -> Iterator[Any]:
        for partitions in (*self._sparse, *self._dense):
            yield from partitions

    def _flat_slots(self, partitions: Sequence[Any]) -> Tensor:
        return _flat([self._slots[id(v)].read_value() for v in partitions])

    def minimize(self, global_step: Any = None, name: str | None = None) -> Any:
        """The operation of one pass over the examples; it counts ``global_step``."""
        with name_scope(name, "sdca/minimize"):
            sparse = self._examples["sparse_features"]
            ids = convert_to_tensor(self._examples["example_ids"], dtypes.string)
            ids = array.reshape(ids, [-1])
            known = [unique(sf.feature_indices)[0] for sf in sparse]
            # Passes that run at once, in threads, would each start from the same dual variables.
            done = self._section.execute(lambda: self._pass(ids, sparse, known))
        if global_step is None:
            return group(done)
        with control_dependencies([done]):
            return assign_add(global_step, 1, name=name).op

    def _pass(self, ids: Tensor, sparse: Any, known: list[Tensor]) -> Tensor:
        given = self._examples
        state, sparse_deltas, dense_deltas = sdca_optimizer(
            [sf.example_indices for sf in sparse],
            [sf.feature_indices for sf in sparse],
            [_values(sf) for sf in sparse],
            [convert_to_tensor(d) for d in given["dense_features"]],
            convert_to_tensor(given["example_weights"], dtypes.float32),
            convert_to_tensor(given["example_labels"], dtypes.float32),
            known,
            [gather(self._flat_slots(v), i) for v, i in zip(self._sparse, known, strict=True)],
            [self._flat_slots(v) for v in self._dense],
            self._table.lookup(ids),
            loss_type=self._options["loss_type"],
            l1=self._l1,
            l2=self._l2,
            num_loss_partitions=self._options.get("num_loss_partitions", 1),
            num_inner_iterations=1,
            adaptive=self._options.get("adaptive", True),
        )
        with control_dependencies([state]):
            updates = [self._table.insert(ids, state)]
        for partitions, rows, delta in zip(self._sparse, known, sparse_deltas, strict=True):
            updates += self._added(partitions, delta, rows)
        for partitions, delta in zip(self._dense, dense_deltas, strict=True):
            updates += self._added(partitions, delta)
        with control_dependencies(updates):
            return array.shape(ids)[0]  # type: ignore[no-any-return]

    def _added(self, partitions: Sequence[Any], delta: Tensor, rows: Any = None) -> list[Any]:
        """Adds ``delta`` to the slots: to all their rows, or to ``rows``."""
        found, start = [], 0
        for variable in partitions:
            slot, size = self._slots[id(variable)], dimension_value(variable.shape[0])
            end, shape = start + size, variable.shape.as_list()
            if rows is None:
                found.append(assign_add(slot, array.reshape(delta[start:end], shape)))
            elif len(partitions) == 1:
                found.append(scatter_add(slot, rows, array.reshape(delta, [-1, *shape[1:]])))
            else:
                mine = (rows >= start) & (rows < end)
                part = array.reshape(boolean_mask(delta, mine), [-1, *shape[1:]])
                found.append(scatter_add(slot, boolean_mask(rows, mine) - start, part))
            start = end
        return found

    def update_weights(self, train_op: Any) -> Any:
        """The operation that takes the trained weights over, shrunk by the L1 penalty; after ``train_op``."""
        with control_dependencies([train_op]):
            updates = []
            for variable in self._weights():
                weights = self._slots[id(variable)].read_value()
                size = maximum(abs(weights) - self._l1 / self._l2, 0.0)
                updates.append(assign(variable, sign(weights) * size))
            return group(*updates)

    def predictions(self, examples: dict[str, Any]) -> Tensor:
        """float32 [n]: probabilities, rates (Poisson), or products of weights and features."""
        _check(examples, "example_weights sparse_features dense_features")
        found = self._products(examples)
        if self._options["loss_type"] == "logistic_loss":
            return sigmoid(found)  # type: ignore[no-any-return]
        return exp(found) if self._options["loss_type"] == "poisson_loss" else found

    def _products(self, examples: dict[str, Any]) -> Tensor:
        with name_scope("sdca/prediction"):
            num_examples = array.shape(examples["example_weights"])[0]
            sums = [array.zeros([num_examples])]
            for column, variable in zip(examples["sparse_features"], self._sparse, strict=True):
                products = gather(_flat(variable), column.feature_indices) * _values(column)
                sums.append(unsorted_segment_sum(products, column.example_indices, num_examples))
            for dense, variable in zip(examples["dense_features"], self._dense, strict=True):
                weights = array.expand_dims(_flat(variable), -1)
                sums.append(array.reshape(matmul(convert_to_tensor(dense), weights), [-1]))
            total: Tensor = add_n(sums)
            return total

    def _penalty(self, l2: float) -> Tensor:
        """The L1 and half the L2 penalty, float64."""
        with name_scope("sdca/penalty"):
            weights = [cast(v, dtypes.float64) for v in self._weights()]
            l1 = self._l1 * add_n([reduce_sum(abs(w)) for w in weights])
            return l1 + l2 * add_n([reduce_sum(square(w)) for w in weights]) / 2.0  # type: ignore[no-any-return]

    def approximate_duality_gap(self) -> Tensor:
        """How far the primal and the dual loss of the examples seen are apart, a mean; NaN before any."""
        with name_scope("sdca/approximate_duality_gap"):
            sums = reduce_sum(cast(self._table.export()[1], dtypes.float64), 0)
            # The dual has the L2 penalty again.
            twice = 2.0 * self._penalty(self._l2) - self._penalty(0.0)
            return (sums[1] + sums[2] + twice) / sums[3]  # type: ignore[no-any-return]

    def unregularized_loss(self, examples: dict[str, Any]) -> Tensor:
        """The weighted mean of the examples' losses, float64; half the squared error."""
        _check(examples, "example_labels example_weights sparse_features dense_features")
        with name_scope("sdca/unregularized_loss"):
            found = cast(self._products(examples), dtypes.float64)
            labels = cast(convert_to_tensor(examples["example_labels"]), dtypes.float64)
            weights = cast(convert_to_tensor(examples["example_weights"]), dtypes.float64)
            losses = _losses(self._options["loss_type"], labels, found)
            return reduce_sum(losses * weights) / reduce_sum(weights)  # type: ignore[no-any-return]

    def regularized_loss(self, examples: dict[str, Any]) -> Tensor:
        """The same with the penalties, that of L2 as it was given."""
        loss = self.unregularized_loss(examples)
        with name_scope("sdca/regularized_loss"):
            total = reduce_sum(cast(convert_to_tensor(examples["example_weights"]), dtypes.float64))
            given = float(self._options["symmetric_l2_regularization"])
            return self._penalty(given) / total + loss  # type: ignore[no-any-return]


def _losses(kind: str, labels: Tensor, found: Tensor) -> Any:
    if kind == "logistic_loss":
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=found)
    if kind == "poisson_loss":
        return log_poisson_loss(targets=labels, log_input=found)
    if kind == "squared_loss":
        return square(labels - found) / 2.0
    return maximum(1.0 - (2.0 * labels - 1.0) * found, 0.0)


def _check(given: dict[str, Any], names: str) -> None:
    for name in names.split():
        if given.get(name) is None:
            raise ValueError(f"{name} must be specified.")
        if "features" in name and not isinstance(given[name], list):
            raise ValueError(f"{name} must be a list.")


def _partitions(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, (list, PartitionedVariable)) else [variable]


def _slot(variable: Any) -> Any:
    """The weights before they are shrunk."""
    name = f"{variable.op.name}_unshrinked/SDCAOptimizer"
    return Variable(array.zeros(variable.shape.as_list(), dtypes.float32), name=name)


def _flat(partitions: Sequence[Any]) -> Tensor:
    flat = [array.reshape(v, [-1]) for v in partitions]
    return flat[0] if len(flat) == 1 else array.concat(flat, 0)


def _values(column: SparseFeatureColumn) -> Tensor:
    if column.feature_values is not None:
        return column.feature_values
    return array.ones_like(column.feature_indices, dtypes.float32)
