"""``linear_operator_util`` and ``linear_operator_test_util``, as TensorFlow's tests use them."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.ops.linalg import linear_operator_test_util as helpers, linear_operator_util


def _tested(factor: float, **methods: Any) -> Any:
    """A class of tests for diagonal operators that are ``factor`` times their matrices."""

    def operator_and_matrix(
        self: Any,
        info: Any,
        dtype: Any,
        use_placeholder: bool,
        ensure_self_adjoint_and_pd: bool = False,
    ) -> Any:
        diagonal = helpers.random_sign_uniform(info.shape[:-1], 1.0, 2.0, dtype=dtype)
        if ensure_self_adjoint_and_pd:
            diagonal = tf.cast(tf.abs(diagonal), dtype)
        own = tf.placeholder_with_default(diagonal, None) if use_placeholder else diagonal
        hint = True if ensure_self_adjoint_and_pd else None
        operator = tf.linalg.LinearOperatorDiag(
            own * tf.cast(factor, dtype), is_self_adjoint=hint, is_positive_definite=hint
        )
        return operator, tf.matrix_diag(diagonal)

    return type(
        "DiagonalTest",
        (helpers.SquareLinearOperatorDerivedClassTest,),
        {
            "operator_and_matrix": operator_and_matrix,
            "dtypes_to_test": staticmethod(lambda: [tf.float64]),
            "operator_shapes_infos": staticmethod(lambda: [helpers.OperatorShapesInfo((2, 3, 3))]),
            **methods,
        },
    )


def _run(case: Any) -> unittest.TestResult:
    helpers.add_tests(case)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_an_operator_passes_the_tests_that_its_class_is_given() -> None:
    case = _tested(1.0)
    result = _run(case)
    # 8 comparisons and 4 products of 4 flips, each with and without a placeholder; and TestCase's own.
    assert sum(name.startswith("test_") and "__shape" in name for name in dir(case)) == 48
    assert result.testsRun >= 48 and not result.errors and not result.failures
    with pytest.raises(RuntimeError, match="more than once"):
        helpers.add_tests(case)


def test_a_wrong_operator_fails_them() -> None:
    result = _run(_tested(2.0, skip_these_tests=staticmethod(lambda: ["cholesky"])))
    # All 46 compare a value: the two of the Cholesky factor are left out.
    assert len(result.failures) + len(result.errors) == 46


@pytest.mark.parametrize("use_resource", [False, True])
def test_gradients_by_the_variables_of_an_operator(use_resource: bool) -> None:
    case = helpers.SquareLinearOperatorDerivedClassTest()
    with tf.Graph().as_default():
        variable = tf.Variable([[2.0, 0.0], [1.0, 3.0]], use_resource=use_resource)
        tf.Variable(1.0)  # another one
        operator = tf.linalg.LinearOperatorFullMatrix(variable, is_non_singular=True)
        assert operator.variables == [variable]
        case.check_tape_safe(operator)
        with pytest.raises(AssertionError, match="empty"):
            case.check_tape_safe(tf.linalg.LinearOperatorIdentity(2))


def test_random_matrices() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        complex_, definite, columns, plain = session.run(
            [
                helpers.random_normal([2000], dtype=tf.complex64),
                helpers.random_positive_definite_matrix([5, 3, 3], tf.float64, True),
                helpers.random_normal_correlated_columns([4, 4], dtype=tf.float64),
                helpers.random_normal_correlated_columns([3, 1], dtype=tf.float64),
            ]
        )
    assert abs(np.std(complex_.real) - 1) < 0.1 and abs(np.std(complex_.imag) - 1) < 0.1
    assert np.linalg.eigvalsh(definite).min() > 0
    assert np.linalg.svd(columns)[1][-1] < 1e-3
    assert plain.shape == (3, 1)
    with pytest.raises(ValueError, match="not compatible"):
        helpers.random_positive_definite_matrix([3, 2], tf.float32)
    with pytest.raises(ValueError, match="at least length 2"):
        helpers.random_normal_correlated_columns([3])


def test_solutions_that_broadcast() -> None:
    matrix, rhs = np.array([[[2.0, 0.0], [1.0, 4.0]]]), np.ones([3, 2, 1])
    with tf.Graph().as_default(), tf.Session() as session:
        hidden = tf.placeholder_with_default(matrix, None)
        solved, lower, factored = session.run(
            [
                linear_operator_util.matrix_solve_with_broadcast(hidden, rhs, adjoint=True),
                linear_operator_util.matrix_triangular_solve_with_broadcast(matrix, rhs),
                linear_operator_util.cholesky_solve_with_broadcast(hidden, rhs),
            ]
        )
        with pytest.raises(ValueError, match="at least two dimensions"):
            linear_operator_util.broadcast_matrix_batch_dims([matrix, [1.0]])
        (alone,) = linear_operator_util.broadcast_matrix_batch_dims([rhs])
        assert alone.shape.as_list() == [3, 2, 1]
    np.testing.assert_allclose(matrix.swapaxes(1, 2) @ solved, rhs)
    np.testing.assert_allclose(matrix @ lower, rhs)
    np.testing.assert_allclose(matrix @ matrix.swapaxes(1, 2) @ factored, rhs)


def test_checks_of_operators() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(linear_operator_util.assert_no_entries_with_modulus_zero([1, -2]))
        session.run(linear_operator_util.assert_zero_imag_part([1.0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="a zero"):
            session.run(
                linear_operator_util.assert_no_entries_with_modulus_zero([1 + 0j, 0j], "a zero")
            )
        with pytest.raises(tf.errors.InvalidArgumentError, match="not real"):
            session.run(linear_operator_util.assert_zero_imag_part([1 + 1j], "not real"))
        operator = tf.linalg.LinearOperatorIdentity(3)
        check = linear_operator_util.assert_compatible_matrix_dimensions
        session.run(check(operator, tf.zeros([3, 1])))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible"):
            session.run(check(operator, tf.placeholder_with_default(np.zeros([2, 1]), None)))
        assert linear_operator_util.shape_tensor([]).dtype == tf.int32


def test_variables_stay_variables() -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(0.0)
        convert = linear_operator_util.convert_nonref_to_tensor
        assert convert(variable) is variable and convert(None) is None
        assert convert(np.float32(1.0)).dtype == tf.float32
        with pytest.raises(TypeError, match="must be of dtype float64"):
            convert(variable, dtype=tf.float64)
        with pytest.raises(TypeError, match="Argument matrix cannot be reference type"):
            linear_operator_util.assert_not_ref_type(variable, "matrix")
        linear_operator_util.assert_not_ref_type(1.0, "matrix")


@pytest.mark.parametrize(
    ("hint", "given", "wanted"),
    [
        (None, None, None),
        (None, True, True),
        (True, None, True),
        (False, None, False),
        (False, False, False),
    ],
)
def test_hints_are_joined(hint: Any, given: Any, wanted: Any) -> None:
    with tf.Graph().as_default():
        operator = tf.linalg.LinearOperatorFullMatrix(
            [[1.0, 0.0], [0.0, 1.0]], is_self_adjoint=hint
        )
        join = linear_operator_util.use_operator_or_provided_hint_unless_contradicting
        assert join(operator, "is_self_adjoint", given, "no") is wanted
        if hint is not None:
            with pytest.raises(ValueError, match="no"):
                join(operator, "is_self_adjoint", not hint, "no")


def test_the_seed_of_graphs_has_its_name() -> None:
    from dataflow.python.framework import random_seed

    assert random_seed.DEFAULT_GRAPH_SEED == 87654321
