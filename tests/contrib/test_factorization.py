"""`tf.contrib.factorization.WALSModel`; the numbers are TensorFlow 1.15's, or of NumPy's solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

DRAWS = np.random.RandomState(0)
MATRIX = DRAWS.rand(7, 5).astype(np.float32)
INDICES = np.argwhere(DRAWS.rand(7, 5) < 0.6)
ROWS, COLUMNS = DRAWS.randn(7, 3).astype(np.float32), DRAWS.randn(5, 3).astype(np.float32)


pytestmark = pytest.mark.usefixtures("graph")


def entries(rows: Any = range(7)) -> Any:
    at = INDICES[np.isin(INDICES[:, 0], list(rows))]
    return tf.SparseTensor(at, MATRIX[tuple(at.T)], [7, 5])


def model(**settings: Any) -> Any:
    start = {"row_init": ROWS, "col_init": COLUMNS} | settings
    return tf.contrib.factorization.WALSModel(7, 5, 3, **start)


def rounds(wals: Any, rows: Any, columns: Any, times: int = 2) -> list[Any]:
    with tf.Session() as session:
        session.run(wals.initialize_op)
        wals.worker_init.run(session=session)
        for _ in range(times):
            session.run(wals.row_update_prep_gramian_op)
            session.run(wals.initialize_row_update_op)
            first = session.run(rows)
            session.run(wals.col_update_prep_gramian_op)
            session.run(wals.initialize_col_update_op)
            second = session.run(columns)
        return [first, second, *session.run([wals.row_factors, wals.col_factors])]


@pytest.mark.parametrize(
    ("settings", "numbers"),
    [
        ({"regularization": 0.1}, [0.286, 1.337, 29.167, 0.367, 1.029, 25.5]),
        (
            {
                "regularization": 0.1,
                "row_weights": None,
                "col_weights": None,
                "unobserved_weight": 1.0,
            },
            [1.009, 0.983, 35.0, 0.858, 0.845, 35.0],
        ),
        (
            {
                "unobserved_weight": 0.5,
                "row_weights": [[1, 2, 3, 4, 5, 6, 7]],
                "col_weights": 2.0,
            },
            [1.534, 0.0, 248.5, 1.432, 0.0, 215.5],
        ),
    ],
)
def test_error_regularization_and_weights(settings: Any, numbers: list[float]) -> None:
    wals = model(**settings)
    rows, columns, *_ = rounds(
        wals, wals.update_row_factors(entries()), wals.update_col_factors(entries())
    )
    np.testing.assert_allclose([*rows[2:], *columns[2:]], numbers, atol=6e-4)


def test_a_row_is_the_weighted_least_squares_solution() -> None:
    weights = np.arange(1.0, 8.0)
    wals = model(unobserved_weight=0.3, regularization=0.2, row_weights=weights, col_weights=2.0)
    update = wals.update_row_factors(entries([3, 5]))
    assert isinstance(update[1], tf.Operation)
    with tf.Session() as session:
        session.run(wals.initialize_op)
        session.run(wals.row_update_prep_gramian_op)
        solved, _ = session.run(update[:2])
        after = session.run(wals.row_factors[0])
    for place, row in enumerate((3, 5)):
        given = INDICES[INDICES[:, 0] == row, 1]
        weight = np.full(5, 0.3)
        weight[given] += weights[row] * 2.0
        target = np.zeros(5)
        target[given] = MATRIX[row, given]
        system = COLUMNS.T @ (weight[:, None] * COLUMNS) + 0.2 * np.eye(3)
        expected = np.linalg.solve(system, COLUMNS.T @ (weight * target))
        np.testing.assert_allclose(solved[place], expected, rtol=1e-4)
        np.testing.assert_allclose(after[row], expected, rtol=1e-4)
    np.testing.assert_array_equal(after[0], ROWS[0])


def test_shards_transposed_inputs_and_projections_give_the_same() -> None:
    whole = model(regularization=0.1)
    first = rounds(whole, whole.update_row_factors(entries()), whole.update_col_factors(entries()))
    cut = model(
        regularization=0.1,
        num_row_shards=3,
        num_col_shards=2,
        row_init=[ROWS[:3], ROWS[3:5], ROWS[5:]],
        col_init=[COLUMNS[:3], COLUMNS[3:]],
    )
    flipped = tf.sparse_transpose(entries())
    second = rounds(
        cut,
        [
            *cut.update_row_factors(flipped, transpose_input=True),
            cut.project_row_factors(entries()),
        ],
        cut.update_col_factors(flipped, transpose_input=True),
    )
    for one, other in zip(first[2:], second[2:], strict=True):
        np.testing.assert_allclose(np.concatenate(one), np.concatenate(other), rtol=1e-4)
    by_row = np.unique(INDICES[:, 0])
    np.testing.assert_allclose(second[0][-1], np.concatenate(second[2])[by_row], rtol=1e-3)


def test_a_matrix_of_low_rank_is_completed() -> None:
    full = DRAWS.rand(20, 2) @ DRAWS.rand(2, 15)
    at = np.argwhere(DRAWS.rand(20, 15) < 0.7)
    given = tf.SparseTensor(at, full[tuple(at.T)].astype(np.float32), [20, 15])
    tf.set_random_seed(1)
    wals = tf.contrib.factorization.WALSModel(20, 15, 2, unobserved_weight=0, regularization=1e-4)
    *_, rows, columns = rounds(
        wals, wals.update_row_factors(given), wals.update_col_factors(given), times=20
    )
    assert np.abs(rows[0] @ columns[0].T - full).max() < 0.05


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"row_weights": None}, "or None for both"),
        ({"row_weights": -1.0}, "must not be negative"),
        ({"row_init": "zeros"}, "'random' or with values"),
        ({"row_weights": [1.0, 2.0], "num_row_shards": 3}, "3 shards, got 2"),
    ],
)
def test_what_it_refuses(settings: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        model(**settings)
    with pytest.raises(TypeError, match="SparseTensor"):
        model().update_row_factors(tf.zeros([7, 5]))
