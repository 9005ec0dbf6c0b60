"""Distributions given by logits or probabilities: what they have in common."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distributions.distribution import (
    NOT_REPARAMETERIZED,
    Distribution,
)
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.assertions import assert_less_equal, assert_near, assert_non_negative
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.math import (
    log,
    log1p,
    reduce_sum,
    sigmoid,
)
from dataflow.ops.random import multinomial
from dataflow.ops.seeds import counted_as
from dataflow.shapes import TensorShape


def logits_and_probs(
    logits: TensorLike | None,
    probs: TensorLike | None,
    multidimensional: bool,
    validate_args: bool,
    dtype: DTypeLike | None = None,
) -> tuple[Any, Any]:
    """Both from the one that is given: log-odds and probabilities, or with ``multidimensional``
    unnormalized log-probabilities and probabilities along the last axis.

    Raises `ValueError` when both or none are given, `TypeError` for what is not a float.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    given = "probs" if logits is None else "logits"
    tensor = convert_to_tensor(probs if logits is None else logits, dtype, name=given)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{given} must be floats, got {tensor.dtype.name}.")
    if logits is not None:
        tensor = array.identity(tensor, name="logits")
        return tensor, (softmax if multidimensional else sigmoid)(tensor, name="probs")
    checks = []
    if validate_args:
        one = convert_to_tensor(1.0, tensor.dtype)
        checks = [assert_non_negative(tensor, message="probs must not be negative")]
        if multidimensional:
            total = reduce_sum(tensor, -1)
            checks.append(
                assert_near(total, array.ones_like(total), message="probs does not sum to 1.")
            )
        else:
            checks.append(
                assert_less_equal(tensor, one, message="probs has components greater than 1.")
            )
    with control_dependencies(checks):
        tensor = array.identity(tensor, name="probs")
    return log(tensor) if multidimensional else log(tensor) - log1p(-tensor), tensor


class WithProbabilities(Distribution):
    """A distribution given by ``logits`` or ``probs``: of one event, or one for each class."""

    #: Whether the last axis of the parameters holds the classes.
    _classes = True

    def _set_probabilities(
        self,
        arguments: dict[str, Any],
        dtype: DTypeLike | None = None,
        reparameterization: Any = None,
    ) -> None:
        with name_scope(arguments["name"]) as scope:
            self._logits, self._probs = logits_and_probs(
                arguments["logits"], arguments["probs"], self._classes, arguments["validate_args"]
            )
            if self._classes:
                shape = self._logits.get_shape()
                if shape.ndims == 0:
                    raise ValueError("logits and probs need an axis for the classes, got a scalar.")
                self._event_size = array.shape(self._logits)[-1]
            extra = self._more_parameters(arguments)
        Distribution.__init__(
            self,
            dtype=self._logits.dtype if dtype is None else as_dtype(dtype),
            reparameterization_type=reparameterization or NOT_REPARAMETERIZED,
            validate_args=arguments["validate_args"],
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters=arguments,
            graph_parents=[self._logits, self._probs, *extra],
            name=scope,
        )

    def _more_parameters(self, arguments: dict[str, Any]) -> list[Any]:
        return []

    @property
    def logits(self) -> Any:
        """Log-odds, or unnormalized log-probabilities along the last axis."""
        return self._logits

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self._probs

    def _without_classes(self) -> tuple[TensorShape, Any]:
        """The shape of the parameters without the axis of the classes: static, and a function."""
        if not self._classes:
            return self._logits.get_shape(), lambda: array.shape(self._logits)
        shape = self._logits.get_shape()
        static = TensorShape(None) if shape.ndims is None else shape[:-1]
        return static, lambda: array.shape(self._logits)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self._without_classes()[0]

    def _batch_shape_tensor(self) -> Any:
        return self._without_classes()[1]()

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        if cls._classes:
            raise NotImplementedError("_param_shapes not implemented")
        return {"logits": convert_to_tensor(sample_shape, dtypes.int32)}


class VectorEvent(WithProbabilities):
    """An event is a vector with one element for each class."""

    @property
    def event_size(self) -> Any:
        """The number of classes, an int32 scalar."""
        return self._event_size

    def _event_shape(self) -> TensorShape:
        shape = self._logits.get_shape()
        return TensorShape([None]) if shape.ndims is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return array.shape(self._logits)[-1:]


def draw_classes(
    logits: TensorLike, n: ShapeLike | Tensor, seed: int, dtype: DTypeLike = dtypes.int32
) -> Any:
    """``n`` class numbers for each row of ``[..., classes]``: ``[n, ...]``."""
    with counted_as(9):
        with counted_as(0):
            shape = array.shape(logits)
            rows = array.reshape(logits, array.stack([-1, shape[-1]]))
        drawn = multinomial(rows, n, seed=seed, output_dtype=dtypes.int64)
        drawn = array.reshape(array.transpose(drawn), array.concat([[n], shape[:-1]], 0))
        return cast(drawn, dtype)


def times_log(x: TensorLike, logarithm: Any) -> Any:
    """``x * logarithm``, 0 where x is 0."""
    from dataflow.ops.arithmetic import multiply_no_nan

    return multiply_no_nan(logarithm, x)
