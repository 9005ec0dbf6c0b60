"""What metrics of `tf.keras` have in common: variables that count, and what is read from them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.dtypes import as_dtype, resource
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.keras import backend as K, initializers
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import tag
from dataflow.keras.ragged_values import flat_values_of_same_rows
from dataflow.ops import array
from dataflow.ops.control_flow import group
from dataflow.ops.math import cast, div_no_nan
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.state import assign_add
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape, dimension_value


def weights_like(weights: Any, values: Any) -> Any:
    """Weights with as many axes as ``values``: axes of 1 are added after theirs.

    A last axis of 1 that ``values`` have not is dropped.
    """
    kind = values.dtype.base_dtype
    weights = cast(weights, kind if kind.is_floating else K.floatx())
    rank, wanted = weights.shape.ndims, values.shape.ndims
    if rank is None or wanted is None or rank == 0:
        return weights
    if rank == wanted + 1:
        return array.squeeze(weights, [-1])
    for _ in range(wanted - rank):
        weights = array.expand_dims(weights, -1)
    return weights


def squeezed_alike(first: Any, second: Any) -> tuple[Any, Any]:
    """Both, without a last axis of 1 that the other does not have."""
    ranks = first.shape.ndims, second.shape.ndims
    if None not in ranks and abs(ranks[0] - ranks[1]) == 1:
        longer = first if ranks[0] > ranks[1] else second
        if dimension_value(longer.shape[-1]) == 1:
            squeezed = array.squeeze(longer, [-1])
            return (squeezed, second) if longer is first else (first, squeezed)
    return first, second


class Metric(Layer):
    """A value that is counted over batches, in variables.

    Subclasses define ``update_state(y_true, y_pred, sample_weight=None)``, which may return an op
    (the assignments that it makes run with it in any case), and ``result()``, a tensor. Each call
    of `add_weight` makes a variable.
    """

    #: The ops of each call of `update_state` in a graph: estimators run the first's.
    update_ops: Sequence[Sequence[Any]] = ()
    _is_updating = False

    def __init__(
        self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype or K.floatx(), **kwargs)
        self.stateful = True
        self.built = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "update_state" in vars(cls):
            cls.update_state = _remembered(cls.update_state)  # type: ignore[method-assign]

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: ShapeLike = (),
        aggregation: Any = None,
        synchronization: Any = None,
        initializer: Any = "zeros",
        dtype: DTypeLike | None = None,
    ) -> Any:
        """A variable that starts at what ``initializer`` says, and is reset to 0.

        ``aggregation`` and ``synchronization`` change nothing here.
        """
        wanted = as_dtype(dtype or self.dtype)
        start = initializers.get(initializer or "zeros")
        dims = TensorShape(shape).as_list()
        with default_graph().control_dependencies(None):
            variable = Variable(
                lambda: start(dims, dtype=wanted),
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
                dtype=wanted,
                name=name,
                use_resource=True,
            )
        self._non_trainable_weights.append(variable)
        return variable

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """An op that counts a batch."""
        raise NotImplementedError

    def result(self) -> Any:
        """The value so far."""
        raise NotImplementedError

    def reset_states(self) -> None:
        """Sets all variables to 0, in Keras's session."""
        K.batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.weights])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value after counting this batch too."""
        graph = default_graph()
        start = len(graph.get_operations())
        update = self.update_state(*args, **kwargs)
        updates = self.changes_since(start) if update is None else [update]
        with graph.control_dependencies(updates):
            value = array.identity(self.result())
        tag(value, "metric", self)
        return value

    def changes_since(self, start: int) -> list[Any]:
        """The ops after number ``start`` that change a variable, where an update returned none.

        An ``update_state`` that was written for eager execution assigns, and returns nothing.
        """
        initial = {variable.initializer for variable in self.weights}
        return [
            op
            for op in default_graph().get_operations()[start:]
            if op not in initial
            and not op.op_def.is_alias
            and (
                any(arg.is_ref for arg in op.op_def.inputs)
                or any(tensor.dtype is resource for tensor in op.inputs)
            )
        ]

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {"name": self.name, "dtype": as_dtype(self.dtype).name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Metric:
        """The metric of a config."""
        return cls(**config)


def _remembered(update_state: Callable[..., Any]) -> Callable[..., Any]:
    """An ``update_state`` whose op the metric remembers: once, where a subclass calls its base class's."""

    @functools.wraps(update_state)
    def counted(self: Metric, *args: Any, **kwargs: Any) -> Any:
        if self._is_updating or executing_eagerly():
            return update_state(self, *args, **kwargs)
        start = len(default_graph().get_operations())
        vars(self)["_is_updating"] = True
        try:
            update = update_state(self, *args, **kwargs)
        finally:
            vars(self)["_is_updating"] = False
        changes = self.changes_since(start) if update is None else [update]
        vars(self)["update_ops"] = (
            *self.update_ops,
            changes,
        )  # past Keras's tracking of attributes
        return update

    return counted


class Sum(Metric):
    """The sum of all values."""

    def __init__(self, name: str = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: TensorLike | None = None) -> Any:
        values = cast(convert_to_tensor(values), self.dtype)
        if sample_weight is not None:
            values = values * weights_like(convert_to_tensor(sample_weight), values)
        return assign_add(self.total, reduce_sum(values)).op

    def result(self) -> Any:
        # A read of its own, so that it can be made to come after an update.
        return self.total.read_value()


class Mean(Metric):
    """The (weighted) mean of all values."""

    def __init__(self, name: str = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: TensorLike | None = None) -> Any:
        values = cast(convert_to_tensor(values), self.dtype)
        if sample_weight is None:
            count = cast(array.size(values), self.dtype)
        else:
            sample_weight = weights_like(convert_to_tensor(sample_weight), values)
            weights = cast(sample_weight, self.dtype) * array.ones_like(values)
            values, count = values * weights, reduce_sum(weights)
        return group(assign_add(self.total, reduce_sum(values)), assign_add(self.count, count))

    def result(self) -> Any:
        return div_no_nan(self.total.read_value(), self.count.read_value())


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred)."""

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name or fn.__name__, dtype)
        self._fn = fn
        self._settings = kwargs

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        (y_true, y_pred), sample_weight = flat_values_of_same_rows([y_true, y_pred], sample_weight)
        y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
        if y_pred.dtype.is_integer:
            y_pred = cast(y_pred, self.dtype)
        return super().update_state(self._fn(y_true, y_pred, **self._settings), sample_weight)

    def get_config(self) -> dict[str, Any]:
        own = {**Metric.get_config(self), **self._settings}
        return {**own, "fn": self._fn.__name__} if type(self) is MeanMetricWrapper else own

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> MeanMetricWrapper:
        """The metric of a config, in which ``fn`` may be a name."""
        from dataflow.keras import metrics

        config = dict(config)
        if cls is MeanMetricWrapper:
            config["fn"] = metrics.get(config["fn"])
        return cls(**config)
