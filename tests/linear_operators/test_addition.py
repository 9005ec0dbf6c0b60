"""Sums of operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.ops.linalg.linear_operator_addition import _AddAndReturnDiag, add_operators

KINDS = {
    "diag": lambda: tf.linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True, name="D"),
    "identity": lambda: tf.linalg.LinearOperatorIdentity(2),
    "triangle": lambda: tf.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [5.0, 1.0]]),
    "matrix": lambda: tf.linalg.LinearOperatorFullMatrix([[0.0, 1.0], [2.0, 3.0]]),
}


def made(kinds: str) -> list[Any]:
    return [KINDS[kind]() for kind in kinds.split()]


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        ("identity identity identity", tf.linalg.LinearOperatorScaledIdentity),
        ("diag identity diag", tf.linalg.LinearOperatorDiag),
        ("triangle diag triangle", tf.linalg.LinearOperatorLowerTriangular),
        ("matrix diag triangle matrix", tf.linalg.LinearOperatorFullMatrix),
    ],
)
def test_the_class_of_a_sum_stores_the_fewest_numbers(kinds: str, kind: type) -> None:
    operators = made(kinds)
    (total,) = add_operators(operators)
    assert type(total) is kind
    with tf.Session() as session:
        expected = sum(session.run([operator.to_dense() for operator in operators]))
        np.testing.assert_array_equal(session.run(total.to_dense()), expected)


def test_what_is_known_of_a_sum() -> None:
    (total,) = add_operators(made("diag diag"))
    assert total.is_positive_definite and total.is_non_singular and total.is_self_adjoint
    assert (
        total.name == "Add/D__D/" and add_operators(made("diag identity"), "mine")[0].name == "mine"
    )
    unknown = tf.linalg.LinearOperatorDiag([1.0, 2.0], is_non_singular=True)
    assert add_operators([unknown, unknown])[0].is_non_singular is None


def test_tiers_that_cannot_add_all() -> None:
    left = add_operators(made("diag triangle diag"), addition_tiers=[[_AddAndReturnDiag()]])
    assert {type(operator) for operator in left} == {
        tf.linalg.LinearOperatorDiag,
        tf.linalg.LinearOperatorLowerTriangular,
    }
    one = made("diag")
    assert add_operators(one) == one


def test_operators_that_do_not_fit() -> None:
    wide = tf.linalg.LinearOperatorFullMatrix(np.ones((2, 3)))
    batch = tf.linalg.LinearOperatorDiag(np.ones((4, 2)))
    for operators, error, match in (
        ([], ValueError, "at least one"),
        ([1, 2], TypeError, "only LinearOperators"),
        ([*made("diag"), wide], ValueError, "same domain dimension"),
        ([batch, tf.linalg.LinearOperatorDiag(np.ones((3, 2)))], ValueError, "Incompatible"),
    ):
        with pytest.raises(error, match=match):
            add_operators(operators)
