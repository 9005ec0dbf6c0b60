"""What all bijectors share: names, shapes, and where log-determinants are summed."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import reduce_sum
from dataflow.shapes import TensorShape


class Bijector(ABC):
    """An invertible function ``y = forward(x)``.

    A subclass gives ``_forward``, ``_inverse``, and ``_forward_log_det_jacobian`` or
    ``_inverse_log_det_jacobian``; the other one follows. Each log-determinant is that of one event of
    ``forward_min_event_ndims`` axes; further event axes are summed. What was computed of a pair (x, y) is
    kept: ``inverse(forward(x))`` gives x back without computing, and so on.
    """

    @abstractmethod
    def __init__(
        self,
        graph_parents: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: DTypeLike | None = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and "
                "`inverse_min_event_ndims`."
            )
        first, second = forward_min_event_ndims, inverse_min_event_ndims
        self._forward_min_event_ndims = _rank("forward", first if first is not None else second)
        self._inverse_min_event_ndims = _rank("inverse", second if second is not None else first)
        self._graph_parents = list(graph_parents or [])
        for i, parent in enumerate(self._graph_parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._name = name or _snake_case(type(self).__name__)
        #: x by y, and y by x, of what was computed.
        self._arguments: dict[Tensor, Any] = {}
        self._results: dict[Tensor, Any] = {}
        #: The log-determinant of the forward function, by x or y and the event's axes.
        self._log_dets: dict[tuple[Tensor, Any], Any] = {}

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the bijector was made of."""
        return self._graph_parents

    @property
    def name(self) -> str:
        """The name scope of the bijector's nodes."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of x and y, or None for any."""
        return self._dtype

    @property
    def forward_min_event_ndims(self) -> Any:
        """The axes of x that the function mixes."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> Any:
        """The axes of y that the inverse mixes."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the log-determinant does not depend on x."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked at run time."""
        return self._validate_args

    @contextmanager
    def _scope(self, name: str) -> Iterator[str]:
        with name_scope(self._name), name_scope(name) as scope:
            yield scope

    def _forward(self, x: TensorLike) -> Any:
        raise NotImplementedError(f"forward not implemented: {type(self).__name__}")

    def _inverse(self, y: TensorLike) -> Any:
        raise NotImplementedError(f"inverse not implemented: {type(self).__name__}")

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape

    def forward_event_shape(self, input_shape: Any) -> TensorShape:
        """The static shape of ``forward(x)`` for an event x of ``input_shape``."""
        return self._forward_event_shape(TensorShape(input_shape))

    def inverse_event_shape(self, output_shape: Any) -> TensorShape:
        """The static shape of ``inverse(y)`` for an event y of ``output_shape``."""
        return self._inverse_event_shape(TensorShape(output_shape))

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        return _from_static(self, "_forward_event_shape", shape)

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        return _from_static(self, "_inverse_event_shape", shape)

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Any:
        """`forward_event_shape` as an int32 vector, of a shape that the graph need not know."""
        with self._scope(name):
            return self._forward_event_shape_tensor(_vector(input_shape, "input_shape"))

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Any:
        """`inverse_event_shape` as an int32 vector, of a shape that the graph need not know."""
        with self._scope(name):
            return self._inverse_event_shape_tensor(_vector(output_shape, "output_shape"))

    def forward(self, x: TensorLike, name: str = "forward") -> Any:
        """``y`` for ``x``."""
        return self._call_forward(x, name)

    def inverse(self, y: TensorLike, name: str = "inverse") -> Any:
        """``x`` for ``y``; a tuple of all such x where several values become one."""
        return self._call_inverse(y, name)

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """``log |det dy/dx|`` at x, whose last ``event_ndims`` axes are one event."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """``log |det dx/dy|`` at y, whose last ``event_ndims`` axes are one event."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    # A `ConditionalBijector` hands on what else its functions take; nothing is kept of such calls.

    def _call_forward(self, x: Any, name: str, **condition: Any) -> Any:
        with self._scope(name):
            x = self._end(x, "x")
            if condition or not self._is_injective:
                return self._forward(x, **condition)
            known = self._results.get(x)
            return self._paired(x, self._forward(x))[1] if known is None else known

    def _call_inverse(self, y: Any, name: str, **condition: Any) -> Any:
        with self._scope(name):
            y = self._end(y, "y")
            if condition or not self._is_injective:
                return self._inverse(y, **condition)
            known = self._arguments.get(y)
            return self._paired(self._inverse(y), y)[0] if known is None else known

    def _call_forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str, **condition: Any
    ) -> Any:
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._scope(name):
            x = self._end(x, "x")
            needed = self._forward_min_event_ndims
            if condition:
                here = self._forward_log_det_jacobian(x, **condition)
                return self._reduced(
                    here, x, _checked_ndims(event_ndims, self._validate_args), needed
                )
            return self._summed(x, self._results.get(x), x, event_ndims, needed)

    def _call_inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str, **condition: Any
    ) -> Any:
        with self._scope(name):
            y = self._end(y, "y")
            needed = self._inverse_min_event_ndims
            if condition or not self._is_injective:
                ndims = _checked_ndims(event_ndims, self._validate_args)
                found = self._inverse_log_det_jacobian(y, **condition)
                if self._is_injective:
                    return self._reduced(found, y, ndims, needed)
                return tuple(self._reduced(branch, y, ndims, needed) for branch in found)
            return -self._summed(self._arguments.get(y), y, y, event_ndims, needed)

    @property
    def _is_injective(self) -> bool:
        return True

    def _end(self, value: TensorLike, name: str) -> Any:
        """One end as a tensor; raises `TypeError` for another dtype than the bijector's."""
        end = convert_to_tensor(value, name=name, preferred_dtype=self._dtype)
        if self._dtype is not None:
            dtype = dtypes.as_dtype(self._dtype).base_dtype
            if end.dtype.base_dtype != dtype:
                raise TypeError(f"Input had dtype {end.dtype} but expected {dtype}.")
        return end

    def _paired(self, x: Any, y: Any) -> tuple[Any, Any]:
        self._arguments[y], self._results[x] = x, y
        return x, y

    def _summed(self, x: Any, y: Any, value: Any, event_ndims: Any, needed: Any) -> Any:
        """The log-determinant of the forward function at ``value``, one of its ends; kept."""
        ndims = _checked_ndims(event_ndims, self._validate_args)
        keys = [(end, ndims) for end in (x, y) if end is not None]
        for key in keys:
            if key in self._log_dets:
                return self._log_dets[key]
        here = self._log_det(x, None) if value is x else self._log_det(None, y)
        log_det = self._reduced(here, value, ndims, needed)
        for key in keys:
            self._log_dets[key] = log_det
        return log_det

    def _log_det(self, x: Any, y: Any) -> Any:
        """The log-determinant of the forward function, from either end."""
        forward, inverse = "_forward_log_det_jacobian", "_inverse_log_det_jacobian"
        for method in (forward, inverse) if y is None else (inverse, forward):
            if not _overridden(self, method):
                continue
            if method == forward:
                return self._forward_log_det_jacobian(self.inverse(y) if x is None else x)
            return -self._inverse_log_det_jacobian(self.forward(x) if y is None else y)
        name = forward if y is None else inverse
        raise NotImplementedError(f"{name[1:]} not implemented: {type(self).__name__}")

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        raise NotImplementedError

    def _inverse_log_det_jacobian(self, y: TensorLike) -> Any:
        raise NotImplementedError

    def _reduced(self, log_det: Any, value: Any, ndims: Any, needed: Any) -> Any:
        """Sums a log-determinant over the event axes that the function does not mix."""
        extra = ndims - needed
        if not isinstance(ndims, Tensor):
            if extra < 0:
                raise ValueError(
                    f"event_ndims ({ndims}) must be larger than min_event_ndims ({needed}), "
                    f"or equal to it, for {self._name}."
                )
            if extra == 0:
                return log_det
        elif not self._is_constant_jacobian:
            return reduce_sum(log_det, array.range_(-extra, 0))
        shape = array.shape(value)
        if needed:
            shape = shape[: array.size(shape) - needed]
        if not self._is_constant_jacobian:
            whole = array.broadcast_to(convert_to_tensor(log_det, value.dtype), shape)
        else:  # it counts once for each part of the event
            parts = shape[array.size(shape) - extra :]
            whole = convert_to_tensor(log_det, value.dtype) * array.ones(parts, value.dtype)
        axes = array.range_(-extra, 0) if isinstance(extra, Tensor) else list(range(-extra, 0))
        return reduce_sum(whole, axes)


def _snake_case(name: str) -> str:
    """``bare_bones`` of ``_BareBones``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name.lstrip("_")).lower()


def _checked_ndims(event_ndims: Any, checks: bool) -> Any:
    """The number of axes: an int where it is known, a scalar tensor elsewhere."""
    from dataflow.ops.shape_assertions import assert_rank
    from dataflow.ops.tensor_values import constant_value

    given = convert_to_tensor(event_ndims, name="event_ndims")
    if not given.dtype.is_integer:
        raise ValueError(f"Expected integer dtype, got dtype {given.dtype.name}")
    if given.dims not in (None, ()):
        raise ValueError(f"Expected scalar event_ndims, got shape {given.get_shape()}")
    known = constant_value(given)
    if known is not None:
        return int(known)
    if checks:
        text = "Expected scalar event_ndims."
        return with_dependencies([assert_rank(given, 0, message=text)], given)
    return given


def _vector(shape: Any, name: str) -> Tensor:
    """A shape as an int32 vector."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return convert_to_tensor(shape, dtypes.int32, name=name)


def _from_static(bijector: Bijector, method: str, shape: Tensor) -> Any:
    """The shape that the method computes, as a vector; the input shape must be known unless it is unchanged."""
    from dataflow.ops.tensor_values import constant_value

    if not _overridden(bijector, method):
        return shape
    known = constant_value(shape)
    found = None if known is None else getattr(bijector, method)(TensorShape(known))
    if found is None or not found.is_fully_defined():
        raise ValueError("the event's shape must be known when the graph is built.")
    return convert_to_tensor(found.as_list(), dtypes.int32)


def _rank(which: str, ndims: Any) -> int:
    """A given number of event axes; raises `TypeError` or `ValueError` unless it is an integer from 0 on."""
    if not isinstance(ndims, int):
        raise TypeError(
            f"Expected {which}_min_event_ndims to be of type int, got {type(ndims).__name__}"
        )
    if ndims < 0:
        raise ValueError(f"{which}_min_event_ndims must be a non-negative integer.")
    return ndims


def checked(value: Any, validate_args: bool, *checks: Callable[[], Any]) -> Any:
    """The value after the checks (functions that build assertions), if checks are enabled."""
    if not validate_args:
        return value
    return with_dependencies([check() for check in checks], value)


def positive(value: Any, name: str, validate_args: bool) -> Any:
    """A parameter that must be above 0."""
    from dataflow.ops.assertions import assert_positive

    tensor = convert_to_tensor(value, name=name)
    text = f"Argument {name} was not positive"
    return checked(tensor, validate_args, lambda: assert_positive(tensor, message=text))


class ConditionalBijector(Bijector):
    """A bijector whose functions take further arguments: ``forward(x, arg1=1)`` calls ``_forward(x, arg1=1)``."""

    def forward(self, x: TensorLike, name: str = "forward", **condition_kwargs: Any) -> Any:
        return self._call_forward(x, name, **condition_kwargs)

    def inverse(self, y: TensorLike, name: str = "inverse", **condition_kwargs: Any) -> Any:
        return self._call_inverse(y, name, **condition_kwargs)

    def forward_log_det_jacobian(
        self,
        x: Any,
        event_ndims: Any,
        name: str = "forward_log_det_jacobian",
        **condition_kwargs: Any,
    ) -> Any:
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition_kwargs)

    def inverse_log_det_jacobian(
        self,
        y: Any,
        event_ndims: Any,
        name: str = "inverse_log_det_jacobian",
        **condition_kwargs: Any,
    ) -> Any:
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition_kwargs)


def _overridden(bijector: Bijector, method: str) -> bool:
    return getattr(type(bijector), method) is not getattr(Bijector, method)
