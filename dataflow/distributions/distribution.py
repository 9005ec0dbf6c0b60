"""The base of all distributions: shapes, samples, and what follows from one density."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_positive, assert_same_float_dtype
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import (
    exp,
    log,
    log1p,
    reduce_all,
    reduce_prod,
    sqrt,
    square,
)
from dataflow.ops.seeds import counted_as
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape


class ReparameterizationType:
    """Whether samples have gradients with respect to a distribution's parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


#: A sample is a smooth function of the parameters and of noise that does not depend on them.
FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
#: Samples have no (full) gradient; use the score function, ``log_prob(sample) * reward``.
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Parameter:
    """A tensor-valued parameter, declared on a class and set by `Distribution._from_parameters`.

    ``check(tensor)`` gives the assertion that ``validate_args=True`` adds.
    """

    def __init__(self, doc: str, check: Callable[[Tensor], Any] | None = None) -> None:
        self.__doc__ = doc
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance, self._slot)

    def __set__(self, instance: Any, tensor: TensorLike) -> None:
        setattr(instance, self._slot, tensor)


def positive(doc: str) -> Parameter:
    """A `Parameter` that has to be greater than zero."""
    return Parameter(doc, lambda tensor: assert_positive(tensor, message="must be positive"))


def after(assertions: Iterable[Any], tensor: Any) -> Tensor:
    """``tensor``, once the assertions have held."""
    assertions = [assertion for assertion in assertions if assertion is not None]
    if not assertions:
        return tensor  # type: ignore[no-any-return]
    with control_dependencies(assertions):
        return array.identity(tensor)


def _declared(kind: type) -> dict[str, Parameter]:
    """The parameters of a class and its bases, in the order in which they were declared."""
    return {
        name: value
        for base in reversed(kind.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, Parameter)
    }


class Distribution:
    """A random variable: `sample`, `log_prob`, moments, and shapes that broadcast.

    A sample has shape ``sample_shape + batch_shape + event_shape``: the batch holds independent
    distributions side by side (parameters broadcast to it), the event is one draw of one of them.
    ``log_prob(value)`` broadcasts ``value`` against ``batch_shape + event_shape`` and reduces the
    event, so it has shape ``sample_shape + batch_shape``.

    A subclass gives ``_log_prob`` or ``_prob``, ``_sample_n(n, seed)`` with result
    ``[n] + batch_shape + event_shape``, the four shapes, and those of ``_cdf``, ``_log_cdf``,
    ``_entropy``, ``_mean``, ``_variance``, ``_stddev``, ``_covariance``, ``_mode``, ``_quantile``
    that have a closed form. Methods without one raise `NotImplementedError`.

    With ``validate_args=True`` bad parameters and values raise `InvalidArgumentError` at run time;
    else they give NaN or numbers without meaning. With ``allow_nan_stats=False`` a statistic that
    is not defined (the mean of a Cauchy) raises instead of being NaN.
    """

    #: Parameters that do not take part in the batch shape as they stand.
    _event_parameters: tuple[str, ...] = ()

    def __init__(
        self,
        dtype: DTypeLike,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Any = None,
        name: str | None = None,
    ) -> None:
        for i, tensor in enumerate(graph_parents or []):
            if not isinstance(tensor, Tensor) and not hasattr(tensor, "graph"):
                raise ValueError(f"graph_parents[{i}] must be a tensor, got {tensor!r}.")
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._graph_parents = list(graph_parents or [])
        self._set_arguments(parameters or {})
        self._name = name

    def _set_arguments(self, arguments: dict[str, Any]) -> None:
        """Keeps what the constructor was called with, for `parameters` and `copy`."""
        self._parameters = {
            key: value
            for key, value in arguments.items()
            if key != "self" and not key.startswith("__")
        }

    def _from_transformed(
        self, base: type, arguments: dict[str, Any], **transforms: Callable[[Any], Any]
    ) -> None:
        """Constructs a ``base`` from a constructor's ``locals()``, some of them transformed first.

        `parameters` are the arguments as they were given.
        """
        self._set_arguments(arguments)
        given = dict(self._parameters)
        with name_scope(given["name"]) as scope:
            transformed = {k: f(convert_to_tensor(given[k])) for k, f in transforms.items()}
        base.__init__(self, **given | transformed | {"name": scope})  # type: ignore[misc]
        self._set_arguments(given)

    def _from_parameters(
        self,
        arguments: dict[str, Any],
        reparameterization_type: ReparameterizationType,
        dtype: DTypeLike | None = None,
    ) -> None:
        """Sets the declared parameters from the constructor's ``locals()``.

        They have to be floats of the same dtype, which is the distribution's where none is given.
        """
        validate_args = arguments["validate_args"]
        with name_scope(arguments["name"]) as scope:
            tensors = []
            for key, parameter in _declared(type(self)).items():
                tensor = convert_to_tensor(arguments[key], name=key)
                checks = [parameter.check(tensor)] if validate_args and parameter.check else []
                with control_dependencies(checks):
                    tensors.append(array.identity(tensor, name=key))
                parameter.__set__(self, tensors[-1])
            common = assert_same_float_dtype(tensors)
        Distribution.__init__(
            self,
            dtype=common if dtype is None else dtype,
            reparameterization_type=reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters=arguments,
            graph_parents=tensors,
            name=scope,
        )
        self._batch_shape()  # Parameters that do not fit together are an error of this line.

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name scope of the distribution's nodes, with a slash at its end."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the constructor was called with."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """`FULLY_REPARAMETERIZED` where samples have gradients, else `NOT_REPARAMETERIZED`."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether undefined statistics are NaN instead of errors."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether parameters and values are checked at run time."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A new distribution with some arguments of the constructor changed."""
        return type(self)(**{**self._parameters, **override_parameters_kwargs})

    def __str__(self) -> str:
        shapes = f"batch_shape={self.batch_shape}, event_shape={self.event_shape}"
        return (
            f'tfp.distributions.{type(self).__name__}("{self.name}", {shapes}, '
            f"dtype={getattr(self.dtype, 'name', None)})"
        )

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape}"
            f" event_shape={self.event_shape} dtype={getattr(self.dtype, 'name', None)}>"
        )

    @classmethod
    def param_shapes(
        cls, sample_shape: Any, name: str = "DistributionParamShapes"
    ) -> dict[str, Tensor]:
        """The shapes that parameters must have for ``sample()`` to have ``sample_shape``."""
        with name_scope(name):
            return cls._param_shapes(sample_shape)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        shape = convert_to_tensor(sample_shape, dtypes.int32)
        names = [key for key in _declared(cls) if key not in cls._event_parameters]
        if not names or cls._event_parameters:
            raise NotImplementedError("_param_shapes not implemented")
        return dict.fromkeys(names, shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """`param_shapes` as `TensorShape`s; the shape must be known now (`ValueError`)."""
        shape = (
            sample_shape
            if isinstance(sample_shape, TensorShape)
            else TensorShape(constant_value(convert_to_tensor(sample_shape, dtypes.int32)))
        )
        if not shape.is_fully_defined():
            raise ValueError("TensorShape sample_shape must be fully defined")
        found = {}
        for key, value in cls.param_shapes(shape.as_list()).items():
            static = constant_value(value)
            if static is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[key] = TensorShape(static)
        return found

    # ---- shapes ----------------------------------------------------------------------------------

    def _batch_parameters(self) -> list[Tensor]:
        """The tensors whose shapes broadcast to the batch shape."""
        names = [key for key in _declared(type(self)) if key not in self._event_parameters]
        return [getattr(self, key) for key in names]

    def _batch_shape(self) -> TensorShape:
        tensors = self._batch_parameters()
        return common_shape(t.get_shape() for t in tensors)

    def _batch_shape_tensor(self) -> Any:
        tensors = self._batch_parameters()
        with counted_as(max(2 * len(tensors) - 1, 0)):
            return common_shape_tensor(array.shape(t) for t in tensors)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _event_shape_tensor(self) -> Any:
        return array.zeros([0], dtypes.int32)

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of independent distributions held side by side."""
        return TensorShape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one draw."""
        return TensorShape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The batch shape as an int32 vector."""
        return self._shape_tensor(self.batch_shape, self._batch_shape_tensor, name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The event shape as an int32 vector."""
        return self._shape_tensor(self.event_shape, self._event_shape_tensor, name)

    def _shape_tensor(self, static: TensorShape, dynamic: Callable[[], Any], name: str) -> Tensor:
        with self._scope(name):
            if static.is_fully_defined():
                return convert_to_tensor(np.array(static.as_list(), np.int32))
            return convert_to_tensor(dynamic())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether ``event_shape == []``, as a bool scalar."""
        return self._is_scalar(self.event_shape, self.event_shape_tensor, name)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether ``batch_shape == []``, as a bool scalar."""
        return self._is_scalar(self.batch_shape, self.batch_shape_tensor, name)

    def _is_scalar(self, static: TensorShape, dynamic: Callable[[], Any], name: str) -> Tensor:
        from dataflow.ops.math import equal

        with self._scope(name):
            if static.ndims is not None:
                return convert_to_tensor(static.ndims == 0)
            return equal(array.size(dynamic()), 0)

    # ---- samples ---------------------------------------------------------------------------------

    #: What a `ConditionalDistribution` was asked under: further arguments of its methods.
    _condition: Mapping[str, Any] = MappingProxyType({})

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Draws of shape ``sample_shape + batch_shape + event_shape``, dtype ``self.dtype``."""
        with self._scope(name):
            with counted_as(2 if isinstance(sample_shape, (int, np.integer)) else 1):
                sample_shape = convert_to_tensor(
                    np.array(sample_shape, np.int32) if sample_shape == () else sample_shape,
                    dtypes.int32,
                    name="sample_shape",
                )
                static = constant_value(sample_shape)
                num_draws = reduce_prod(sample_shape)
                if sample_shape.get_shape().ndims != 1:
                    sample_shape = array.reshape(sample_shape, [-1])
            drawn = self._sample_n(num_draws, seed, **self._condition)
            rest = array.shape(drawn)[1:]
            inner = drawn.get_shape()[1:] if drawn.get_shape().ndims is not None else None
            drawn = array.reshape(drawn, array.concat([sample_shape, rest], 0))
            ours = self.batch_shape.concatenate(self.event_shape)
            inner = ours if inner is None or ours.is_fully_defined() else inner
            if static is not None:
                drawn.set_shape(TensorShape(np.atleast_1d(static).tolist()).concatenate(inner))
            return drawn

    # ---- densities and statistics ----------------------------------------------------------------

    @contextmanager
    def _scope(self, name: str, values: TensorLike | None = None) -> Iterator[str]:
        with name_scope(self.name), name_scope(name, values=values) as scope:
            yield scope

    def _of_value(
        self, name: str, value: TensorLike, *ways: tuple[str, Callable[[Any], Any] | None]
    ) -> Any:
        """The first of ``ways`` (a method, what to do with its result) that is implemented."""
        with self._scope(name):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return self._first(name, ways, value)

    def _statistic(self, name: str, *ways: tuple[str, Callable[[Any], Any] | None]) -> Any:
        with self._scope(name):
            return self._first(name, ways)

    def _first(self, what: str, ways: Iterable[Any], *args: Any) -> Any:
        reason = ""
        for method, then in ways:
            if not hasattr(self, method):
                continue
            try:
                found = getattr(self, method)(*args, **self._condition)
            except NotImplementedError as error:
                reason = reason or f". {error}"
                continue
            return found if then is None else then(found)
        raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}{reason}")

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Any:
        """The logarithm of the density (mass) at ``value``: ``sample_shape + batch_shape``."""
        return self._of_value(name, value, ("_log_prob", None), ("_prob", log))

    def prob(self, value: TensorLike, name: str = "prob") -> Any:
        """The density, or of a discrete distribution the mass, at ``value``."""
        return self._of_value(name, value, ("_prob", None), ("_log_prob", exp))

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Any:
        """``log P(X <= value)``."""
        return self._of_value(name, value, ("_log_cdf", None), ("_cdf", log))

    def cdf(self, value: TensorLike, name: str = "cdf") -> Any:
        """``P(X <= value)``."""
        return self._of_value(name, value, ("_cdf", None), ("_log_cdf", exp))

    def log_survival_function(self, value: TensorLike, name: str = "log_survival_function") -> Any:
        """``log P(X > value)``."""
        return self._of_value(
            name,
            value,
            ("_log_survival_function", None),
            ("_log_cdf", lambda log_p: log1p(-exp(log_p))),
            ("_cdf", lambda p: log1p(-p)),
        )

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Any:
        """``P(X > value)``."""
        return self._of_value(
            name,
            value,
            ("_survival_function", None),
            ("_cdf", lambda p: 1.0 - p),
            ("_log_cdf", lambda log_p: 1.0 - exp(log_p)),
        )

    def quantile(self, value: TensorLike, name: str = "quantile") -> Any:
        """The x with ``P(X <= x) = value``, for values in [0, 1]."""
        return self._of_value(name, value, ("_quantile", None))

    def entropy(self, name: str = "entropy") -> Any:
        """Shannon's entropy in nats: ``batch_shape``."""
        return self._statistic(name, ("_entropy", None))

    def mean(self, name: str = "mean") -> Any:
        """The mean: ``batch_shape + event_shape``."""
        return self._statistic(name, ("_mean", None))

    def variance(self, name: str = "variance") -> Any:
        """The variance of each element: ``batch_shape + event_shape``."""
        return self._statistic(name, ("_variance", None), ("_stddev", square))

    def stddev(self, name: str = "stddev") -> Any:
        """The standard deviation of each element: ``batch_shape + event_shape``."""
        return self._statistic(name, ("_stddev", None), ("_variance", sqrt))

    def covariance(self, name: str = "covariance") -> Any:
        """The covariance matrix of a vector event: ``batch_shape + [k, k]``."""
        return self._statistic(name, ("_covariance", None))

    def mode(self, name: str = "mode") -> Any:
        """The most likely value: ``batch_shape + event_shape``."""
        return self._statistic(name, ("_mode", None))

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Any:
        """``H(self) + KL(self, other)``, in nats."""
        with self._scope(name):
            return self.entropy() + self.kl_divergence(other)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Any:
        """The Kullback-Leibler divergence ``KL(self, other)``, see `tf.distributions.kl_divergence`."""
        from dataflow.distributions.kullback_leibler import kl_divergence

        with self._scope(name):
            return kl_divergence(self, other)

    # ---- for subclasses --------------------------------------------------------------------------

    def _everywhere(self, value: TensorLike) -> Any:
        """``value`` broadcast to the batch shape."""
        return array.broadcast_to(convert_to_tensor(value, self.dtype), self.batch_shape_tensor())

    def _where_defined(self, condition: Any, value: Any, message: str) -> Any:
        """``value`` where the condition holds; elsewhere NaN, or an error without `allow_nan_stats`."""
        if not self.allow_nan_stats:
            return after([Assert(reduce_all(condition), [f"{self.name}: {message}"])], value)
        return array.where_v2(condition, value, np.array(np.nan, value.dtype.as_numpy_dtype))

    def _checked(self, *checks: tuple[Callable[..., Any], Any]) -> list[Any]:
        """The assertions, where `validate_args` asks for them."""
        return [check(value) for check, value in checks] if self.validate_args else []


def whole_numbers(value: Any, message: str = "must be whole numbers, 0 or more") -> Any:
    """Asserts that a tensor has no fractions and nothing below zero."""
    from dataflow.ops.math import equal, floor, greater_equal, logical_and

    whole = greater_equal(value, array.zeros_like(value))
    if value.dtype.is_floating:
        whole = logical_and(whole, equal(floor(value), value))
    return Assert(reduce_all(whole), [message, value])


def as_float(tensor: TensorLike, dtype: DType) -> Any:
    """``tensor`` in a float dtype."""
    from dataflow.ops.casts import cast

    return cast(tensor, dtype)
