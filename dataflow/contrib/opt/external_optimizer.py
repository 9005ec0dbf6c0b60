"""Optimizers outside of the graph, which ask it for losses and gradients: SciPy's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import logging
from dataflow.autodiff.gradients import gradients
from dataflow.graph.tensor import session_for
from dataflow.ops.array import concat, reshape, zeros_like
from dataflow.ops.math import cast
from dataflow.ops.sources import placeholder
from dataflow.ops.variable_lists import trainable_variables

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

LossAndGradient = Callable[[Any], tuple[Any, Any]]


class ExternalOptimizerInterface:
    """The base: subclasses define `_minimize`, which finds the best vector of all variables together.

    ``loss`` is a scalar tensor, ``var_list`` what is changed, by default all trainable variables.
    ``equalities`` are tensors that shall be 0, ``inequalities`` tensors that shall not be below 0.
    ``var_to_bounds`` gives variables a pair (lower, upper): numbers, or arrays of the variable's shape.
    Further arguments go to the optimizer.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Iterable[Any] | None = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Any = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._equalities = list(equalities or [])
        self._inequalities = list(inequalities or [])
        self._vars = list(trainable_variables() if var_list is None else var_list)
        shapes = [v.get_shape().as_list() for v in self._vars]
        sizes = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
        ends = np.cumsum([0, *sizes])
        self._slices = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self._bounds = self._packed_bounds(var_to_bounds or {}, shapes)
        self.optimizer_kwargs = optimizer_kwargs
        self._packed_var = self._pack(self._vars)
        self._packed_loss_grad = self._gradient(loss)
        self._packed_equality_grads = [self._gradient(e) for e in self._equalities]
        self._packed_inequality_grads = [self._gradient(e) for e in self._inequalities]
        self._feeds = [placeholder(v.dtype.base_dtype, v.get_shape()) for v in self._vars]
        self._updates = [v.assign(f) for v, f in zip(self._vars, self._feeds, strict=True)]

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Any = None,
        loss_callback: Any = None,
        **run_kwargs: Any,
    ) -> None:
        """Looks for the minimum from the variables' present values, and stores it in them.

        ``loss_callback(*values of fetches)`` is called after each evaluation of the loss,
        ``step_callback(vector)`` after each step.
        """
        session = session_for(session, self._loss.graph, "minimize()")
        feed_dict = feed_dict or {}
        fetches = list(fetches or [])
        evaluations = [
            self._evaluation(session, [loss], [gradient], feed_dict, [], None, run_kwargs)
            for loss, gradient in zip(
                [*self._equalities, *self._inequalities],
                [*self._packed_equality_grads, *self._packed_inequality_grads],
                strict=True,
            )
        ]
        found = self._minimize(
            initial_val=session.run(self._packed_var, feed_dict, **run_kwargs),
            loss_grad_func=self._evaluation(
                session,
                [self._loss],
                [self._packed_loss_grad],
                feed_dict,
                fetches,
                loss_callback,
                run_kwargs,
            ),
            equality_funcs=evaluations[: len(self._equalities)],
            inequality_funcs=evaluations[len(self._equalities) :],
            packed_bounds=self._bounds,
            step_callback=step_callback or (lambda vector: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        parts = self._unpack(found)
        session.run(self._updates, dict(zip(self._feeds, parts, strict=True)), **run_kwargs)

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: LossAndGradient,
        equality_funcs: list[LossAndGradient],
        inequality_funcs: list[LossAndGradient],
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass it and define _minimize."
        )

    def _evaluation(
        self,
        session: BaseSession,
        losses: list[Any],
        packed_gradients: list[Any],
        feed_dict: Mapping[Any, Any],
        fetches: list[Any],
        callback: Any,
        run_kwargs: Any,
    ) -> LossAndGradient:
        def evaluate(vector: Any) -> tuple[Any, Any]:
            feeds = {**feed_dict, **dict(zip(self._vars, self._unpack(vector), strict=True))}
            loss, gradient, *values = session.run(
                [*losses, *packed_gradients, *fetches], feeds, **run_kwargs
            )
            if callback is not None:
                callback(*values)
            return loss, gradient.astype("float64")

        return evaluate

    def _pack(self, tensors: list[Any]) -> Any:
        if len(tensors) == 1:
            return reshape(tensors[0], [-1])
        common = self._vars[0].dtype.base_dtype
        return concat([reshape(cast(t, common), [-1]) for t in tensors], 0)

    def _unpack(self, vector: Any) -> list[Any]:
        return [
            np.asarray(vector[part], v.dtype.base_dtype.as_numpy_dtype).reshape(
                v.get_shape().as_list()
            )
            for part, v in zip(self._slices, self._vars, strict=True)
        ]

    def _gradient(self, loss: Any) -> Any:
        found = gradients(loss, self._vars)
        return self._pack(
            [zeros_like(v) if g is None else g for g, v in zip(found, self._vars, strict=True)]
        )

    def _packed_bounds(self, var_to_bounds: Any, shapes: list[Any]) -> list[Any] | None:
        if not var_to_bounds:
            return None
        # Variables are compared by identity; numbers and arrays are spread over the variable.
        given = {id(v): bounds for v, bounds in var_to_bounds.items()}
        packed: list[Any] = []
        for variable, shape in zip(self._vars, shapes, strict=True):
            pair = given.get(id(variable), (-np.inf, np.inf))
            try:
                low, high = (np.broadcast_to(end, shape).ravel() for end in pair)
            except ValueError:
                raise ValueError(
                    f"The bounds of {variable.op.name!r} must be numbers or of its shape {shape}."
                ) from None
            packed.extend(zip(low.tolist(), high.tolist(), strict=True))
        return packed


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """`scipy.optimize.minimize` of a loss; ``method="L-BFGS-B"`` unless another is given.

    ``options={"maxiter": 100}`` and other arguments are SciPy's. With constraints the default method is
    "SLSQP". Raises `ImportError` where SciPy is not installed, `ValueError` for constraints that the method
    does not take.
    """

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: LossAndGradient,
        equality_funcs: list[LossAndGradient],
        inequality_funcs: list[LossAndGradient],
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        from scipy import optimize

        options = dict(optimizer_kwargs)
        constraints = []
        for kind, functions in (("eq", equality_funcs), ("ineq", inequality_funcs)):
            for function in functions:
                constraints.append(
                    {
                        "type": kind,
                        "fun": lambda x, f=function: f(x)[0],
                        "jac": lambda x, f=function: f(x)[1],
                    }
                )
        method = options.pop("method", "SLSQP" if constraints else "L-BFGS-B")
        for name in ("fun", "x0", "jac", "bounds", "constraints", "callback"):
            if name in options:
                raise ValueError(
                    f"Optimizer keyword arg '{name}' is set automatically and cannot be injected "
                    "manually"
                )
        result = optimize.minimize(
            lambda x: loss_grad_func(x),
            np.asarray(initial_val, np.float64),
            jac=True,
            callback=step_callback,
            method=method,
            constraints=constraints,
            bounds=packed_bounds,
            **options,
        )
        logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %d",
            result.message,
            result.fun,
            getattr(result, "nit", "unknown"),
            result.nfev,
        )
        return result.x
