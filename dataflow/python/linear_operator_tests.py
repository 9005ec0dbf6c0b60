"""``linear_operator_test_util``: a linear operator compared with the matrix that it stands for.

A class gives ``operator_and_matrix``; `add_tests` gives it a test for each method, dtype, shape, and for an
operator of a placeholder whose shape is not known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.autodiff.gradient_tape import GradientTape
from dataflow.dtypes import DType
from dataflow.graph.graph import Graph
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.complex_numbers import complex_
from dataflow.ops.decompositions import cholesky
from dataflow.ops.elementary import sign
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import (
    adjoint as adjoint_of,
    matrix_band_part,
    matrix_diag_part,
    matrix_set_diag,
    matrix_transpose,
    trace,
)
from dataflow.ops.random import random_normal as draw_normal, random_uniform as draw_uniform
from dataflow.ops.seeds import DEFAULT_GRAPH_SEED
from dataflow.ops.solvers import matrix_determinant, matrix_inverse, slogdet
from dataflow.python.linear_operator_parts import matrix_solve_with_broadcast
from dataflow.python.test_decorators import run_deprecated_v1
from dataflow.shapes import TensorShape, dimension_value
from dataflow.test import TestCase

__all__ = [
    "CheckTapeSafeSkipOptions",
    "LinearOperatorDerivedClassTest",
    "NonSquareLinearOperatorDerivedClassTest",
    "OperatorShapesInfo",
    "SquareLinearOperatorDerivedClassTest",
    "add_tests",
    "random_normal",
    "random_normal_correlated_columns",
    "random_positive_definite_matrix",
    "random_sign_uniform",
    "random_tril_matrix",
    "random_uniform",
]

_TOLERANCES = {
    dtypes.float16: 1e-3,
    dtypes.float32: 1e-6,
    dtypes.float64: 1e-12,
    dtypes.complex64: 1e-6,
    dtypes.complex128: 1e-12,
}


class OperatorShapesInfo:
    """The shape of a matrix, and what else a test wants to know of it, as attributes."""

    def __init__(self, shape: tuple[int, ...], **kwargs: Any) -> None:
        self.shape = shape
        self.__dict__.update(kwargs)


class CheckTapeSafeSkipOptions:
    """Methods that `check_tape_safe` can leave out."""

    DETERMINANT = "determinant"
    DIAG_PART = "diag_part"
    LOG_ABS_DETERMINANT = "log_abs_determinant"
    TRACE = "trace"


class LinearOperatorDerivedClassTest(TestCase):
    """What the tests of an operator share; ``operator_and_matrix`` is the subclass's."""

    _atol = dict(_TOLERANCES)
    _rtol = dict(_TOLERANCES)

    def assertAC(self, x: Any, y: Any) -> None:
        """Both arrays are close, by the tolerances of their dtype."""
        dtype = dtypes.as_dtype(x.dtype)
        self.assertAllClose(x, y, atol=self._atol[dtype], rtol=self._rtol[dtype])

    def assertRaisesError(self, msg: str) -> Any:
        """A context that an error with this message must leave."""
        return self.assertRaisesOpError(msg)

    @staticmethod
    def adjoint_options() -> list[bool]:
        """Whether products are those of the adjoint operator."""
        return [False, True]

    @staticmethod
    def adjoint_arg_options() -> list[bool]:
        """Whether the argument's adjoint is given."""
        return [False, True]

    @staticmethod
    def dtypes_to_test() -> list[DType]:
        """The dtypes of the operators."""
        return [dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]

    @staticmethod
    def use_placeholder_options() -> list[bool]:
        """Whether the operator's parameters are placeholders without a shape."""
        return [False, True]

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        """The shapes that are tried."""
        raise NotImplementedError("operator_shapes_infos has not been implemented.")

    @staticmethod
    def skip_these_tests() -> list[str]:
        """The tests that the operator has none of: ``["cholesky"]``."""
        return []

    def operator_and_matrix(
        self,
        shapes_info: OperatorShapesInfo,
        dtype: DType,
        use_placeholder: bool,
        ensure_self_adjoint_and_pd: bool = False,
    ) -> tuple[LinearOperator, Any]:
        """An operator and its matrix, of random numbers."""
        raise NotImplementedError("Not implemented yet.")

    def _columns(self, operator: LinearOperator, axis: int, with_batch: bool) -> Any:
        """Random columns, as long as the operator's axis."""
        rank = operator.tensor_rank
        count = 1 if rank is None or rank % 2 else 2
        if operator.shape.is_fully_defined():
            batch = operator.batch_shape.as_list() if with_batch else []
            shape: Any = [*batch, dimension_value(operator.shape[axis]), count]
        else:
            shape = [operator.shape_tensor()[axis], count]
            if with_batch:
                shape = array.concat([operator.batch_shape_tensor(), shape], 0)
        return random_normal(shape, dtype=operator.dtype)

    def make_x(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """A matrix that the operator, or its adjoint, can be multiplied with."""
        return self._columns(operator, -2 if adjoint else -1, with_batch)

    def make_rhs(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """A right-hand side for ``solve``."""
        return self.make_x(operator, adjoint=not adjoint, with_batch=with_batch)

    def check_tape_safe(self, operator: LinearOperator, skip_options: Any = None) -> None:
        """A tape gives gradients of what the operator computes by all of its variables."""
        if not operator.variables:
            raise AssertionError("`operator.variables` was empty")
        left_out = set(skip_options or ())
        x = cast(array.ones(operator.H.shape_tensor()[:-1]), operator.dtype)
        computed: list[Callable[[], Any]] = [
            operator.to_dense,
            lambda: operator.adjoint().to_dense(),
            lambda: operator.matvec(x),
        ]
        if operator.is_square:
            names = ("determinant", "log_abs_determinant", "diag_part", "trace")
            computed += [getattr(operator, name) for name in names if name not in left_out]
            if operator.is_non_singular is not False:
                computed += [lambda: operator.inverse().to_dense(), lambda: operator.solvevec(x)]
                if operator.is_self_adjoint and operator.is_positive_definite:
                    computed.append(lambda: operator.cholesky().to_dense())
        for compute in computed:
            with GradientTape() as tape:
                value = compute()
            for gradient in tape.gradient(value, operator.variables):
                if gradient is None:
                    raise AssertionError("a gradient by a variable of the operator is None")


class SquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of operators that are square."""

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        shapes = ((0, 0), (1, 1), (1, 3, 3), (3, 4, 4), (2, 1, 4, 4))
        return [OperatorShapesInfo(shape) for shape in shapes]


class NonSquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of operators that need not be square."""

    @staticmethod
    def skip_these_tests() -> list[str]:
        return ["cholesky", "inverse", "solve", "solve_with_broadcast", "det", "log_abs_det"]

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        shapes = ((2, 1), (1, 2), (1, 3, 2), (3, 3, 4), (2, 1, 2, 4))
        return [OperatorShapesInfo(shape) for shape in shapes]

    def make_rhs(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        raise NotImplementedError("make_rhs not implemented because we don't test solve")


#: Of each test: what the operator gives, what its matrix gives, and whether the static shapes are compared.
_COMPARED: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any], bool]] = {
    "add_to_tensor": (lambda o, m: o.add_to_tensor(2 * m), lambda m: 3 * m, True),
    "cholesky": (lambda o, m: o.cholesky().to_dense(), lambda m: cholesky(m), False),
    "det": (lambda o, m: o.determinant(), lambda m: matrix_determinant(m), True),
    "diag_part": (lambda o, m: o.diag_part(), lambda m: matrix_diag_part(m), True),
    "inverse": (lambda o, m: o.inverse().to_dense(), lambda m: matrix_inverse(m), False),
    "log_abs_det": (lambda o, m: o.log_abs_determinant(), lambda m: slogdet(m)[1], True),
    "to_dense": (lambda o, m: o.to_dense(), lambda m: m, True),
    "trace": (lambda o, m: o.trace(), lambda m: trace(m), True),
}
_PRODUCTS = ("matmul", "matmul_with_broadcast", "solve", "solve_with_broadcast")


def _comparison(name: str, info: Any, dtype: DType, placeholder: bool) -> Callable[[Any], None]:
    ours, theirs, compares_shapes = _COMPARED[name]

    def test(self: Any) -> None:
        with self.session(graph=Graph()) as session:
            session.graph.seed = DEFAULT_GRAPH_SEED
            definite = {"ensure_self_adjoint_and_pd": True} if name == "cholesky" else {}
            operator, matrix = self.operator_and_matrix(
                info, dtype, use_placeholder=placeholder, **definite
            )
            found, wanted = ours(operator, matrix), theirs(matrix)
            if compares_shapes and not placeholder:
                self.assertAllEqual(found.get_shape(), wanted.get_shape())
            self.assertAC(*session.run([found, wanted]))

    return test


def _product(
    name: str, info: Any, dtype: DType, placeholder: bool, adjoint: bool, adjoint_arg: bool
) -> Callable[[Any], None]:
    with_batch = name != "solve_with_broadcast"  # products have their own broadcasting

    def test(self: Any) -> None:
        if not with_batch and len(info.shape) <= 2:
            return
        with self.session(graph=Graph()) as session:
            session.graph.seed = DEFAULT_GRAPH_SEED
            operator, matrix = self.operator_and_matrix(info, dtype, use_placeholder=placeholder)
            solves = name.startswith("solve")
            make = self.make_rhs if solves else self.make_x
            x = make(operator, adjoint=adjoint, with_batch=with_batch)
            method = operator.solve if solves else operator.matmul
            given = adjoint_of(x) if adjoint_arg else x
            found = method(given, adjoint=adjoint, adjoint_arg=adjoint_arg)
            if solves:
                wanted = matrix_solve_with_broadcast(matrix, x, adjoint=adjoint)
            else:
                wanted = matmul(matrix, x, adjoint_a=adjoint)
            if not placeholder:
                self.assertAllEqual(found.get_shape(), wanted.get_shape())
            self.assertAC(*session.run([found, wanted]))

    return test


def add_tests(test_cls: Any) -> None:
    """Gives the class its tests; raises `RuntimeError` for one that it has already."""
    for name in sorted((*_COMPARED, *_PRODUCTS)):
        if name in test_cls.skip_these_tests():
            continue
        cases = itertools.product(
            test_cls.dtypes_to_test(),
            test_cls.use_placeholder_options(),
            test_cls.operator_shapes_infos(),
        )
        for dtype, placeholder, info in cases:
            case = f"test_{name}__shape={info.shape},dtype={dtype},use_placeholder={placeholder}"
            if name in _COMPARED:
                _add(test_cls, case, _comparison(name, info, dtype, placeholder))
                continue
            flips = itertools.product(test_cls.adjoint_options(), test_cls.adjoint_arg_options())
            for adjoint, adjoint_arg in flips:
                test = _product(name, info, dtype, placeholder, adjoint, adjoint_arg)
                _add(test_cls, f"{case},adjoint={adjoint},adjoint_arg={adjoint_arg}", test)


def _add(test_cls: Any, name: str, test: Callable[[Any], None]) -> None:
    if hasattr(test_cls, name):
        raise RuntimeError(f"Test {name} defined more than once")
    setattr(test_cls, name, run_deprecated_v1(test))


def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: Any = None
) -> Any:
    """Normal numbers; of a complex dtype, both parts are drawn."""
    return _drawn(draw_normal, dtype, seed, 1234, "random_normal", shape, mean, stddev)


def random_uniform(
    shape: Any,
    minval: Any = None,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: Any = None,
) -> Any:
    """Uniform numbers; of a complex dtype, both parts are drawn."""
    return _drawn(draw_uniform, dtype, seed, 12345, "random_uniform", shape, minval, maxval)


def _drawn(draw: Any, dtype: Any, seed: Any, step: int, name: str, shape: Any, *bounds: Any) -> Any:
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name):
        found = draw(shape, *bounds, dtype=dtype.real_dtype, seed=seed)
        if not dtype.is_complex:
            return found
        second = None if seed is None else seed + step
        return complex_(found, draw(shape, *bounds, dtype=dtype.real_dtype, seed=second))


def random_sign_uniform(
    shape: Any,
    minval: Any = None,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: Any = None,
) -> Any:
    """Uniform numbers in [minval, maxval), each with a random sign."""
    with name_scope("random_sign_uniform"):
        found = random_uniform(shape, minval, maxval, dtype, seed)
        second = None if seed is None else seed + 12
        return found * cast(sign(draw_uniform(shape, -1.0, 1.0, seed=second)), found.dtype)


def random_tril_matrix(
    shape: Any, dtype: Any, force_well_conditioned: bool = False, remove_upper: bool = True
) -> Any:
    """A lower triangle of normal numbers; well conditioned: its diagonal has absolute values in [1, sqrt 2)."""
    dtype = dtypes.as_dtype(dtype)
    with name_scope("random_tril_matrix"):
        triangle = random_normal(shape, dtype=dtype)
        if remove_upper:
            triangle = matrix_band_part(triangle, -1, 0)
        if force_well_conditioned:
            diagonal = random_sign_uniform(
                shape[:-1], dtype=dtype, minval=1.0, maxval=float(np.sqrt(2.0))
            )
            triangle = matrix_set_diag(triangle, diagonal)
        return triangle


def random_positive_definite_matrix(
    shape: Any, dtype: Any, force_well_conditioned: bool = False
) -> Any:
    """``L @ L^H`` of a random triangle. Raises `ValueError` for a shape that is not square."""
    if isinstance(shape, (list, tuple, TensorShape)):
        rows, columns = TensorShape(shape)[-2:]
        rows.assert_is_compatible_with(columns)
    with name_scope("random_positive_definite_matrix"):
        triangle = random_tril_matrix(shape, dtype, force_well_conditioned)
        return matmul(triangle, triangle, adjoint_b=True)


def random_normal_correlated_columns(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    eps: float = 1e-4,
    seed: Any = None,
) -> Any:
    """Normal columns [..., m, n] that are nearly of rank n - 1; plainly normal where n < 2 or n < m."""
    if len(shape) < 2:
        raise ValueError(f"Argument shape must be at least length 2.  Found: {shape}")
    *batch, m, n = shape
    if n < 2 or n < m:
        return random_normal(shape, mean=mean, stddev=stddev, dtype=dtype, seed=seed)
    with name_scope("random_normal_correlated_columns"):
        few = random_normal([*batch, m, n - 1], 0.0, 1 / np.sqrt(n - 1), dtype, seed)
        second = None if seed is None else seed + 1287
        spread = random_normal([*batch, n, n - 1], dtype=dtype, seed=second)
        found = matrix_transpose(matmul(spread, few, transpose_b=True))
        return found + random_normal(shape, stddev=eps, dtype=dtype) + array.ones_like(found) * mean
