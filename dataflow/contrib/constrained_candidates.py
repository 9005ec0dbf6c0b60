"""Which of several solutions to take, by their objectives and by how far they violate the constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["find_best_candidate_distribution", "find_best_candidate_index"]


def find_best_candidate_distribution(
    objective_vector: Any, constraints_matrix: Any, epsilon: float = 0.0
) -> Any:
    """The mixture of candidates with the smallest objective among those that keep the constraints. Needs SciPy.

    Shape: ``objective_vector`` [candidates], ``constraints_matrix`` [constraints, candidates], of which nothing
    should be above 0; the result [candidates], probabilities. Where no mixture keeps all constraints, the largest
    violation is made as small as it can be, up to ``epsilon``. Raises `ValueError` for other shapes, and for a
    negative ``epsilon``.
    """
    if epsilon < 0.0:
        raise ValueError(f"epsilon must be nonnegative, got {epsilon}.")
    objectives, constraints = _checked(objective_vector, constraints_matrix)
    found = _mixture(objectives, constraints, 0.0)
    if found is not None:
        return found
    lower, upper = 0.0, float(np.min(np.amax(constraints, axis=0)))
    best = _mixture(objectives, constraints, upper)  # one candidate alone violates no more
    assert best is not None
    while True:
        middle = 0.5 * (lower + upper)
        if middle - lower <= epsilon or upper - middle <= epsilon:
            return best
        found = _mixture(objectives, constraints, middle)
        if found is None:
            lower = middle
        else:
            best, upper = found, middle


def find_best_candidate_index(
    objective_vector: Any, constraints_matrix: Any, rank_objectives: bool = False
) -> int:
    """The candidate whose worst rank by a constraint's violation is best; its objective decides between equals.

    With ``rank_objectives`` its rank by the objective counts, too. Shapes and errors: as
    `find_best_candidate_distribution`.
    """
    objectives, constraints = _checked(objective_vector, constraints_matrix)
    rows = [np.maximum(0.0, row) for row in constraints]
    ranks = [_ranks(row) for row in ([objectives] if rank_objectives else []) + rows]
    worst = np.max(ranks, axis=0) if ranks else np.zeros(objectives.size, np.int64)
    best = 0
    for i in range(1, objectives.size):
        if (worst[i], objectives[i]) <= (worst[best], objectives[best]):
            best = i
    return best


def _checked(objective_vector: Any, constraints_matrix: Any) -> tuple[Any, Any]:
    objectives, constraints = np.asarray(objective_vector), np.asarray(constraints_matrix)
    if constraints.ndim != 2 or objectives.shape != constraints.shape[1:]:
        raise ValueError(
            "objective_vector must have shape [candidates] and constraints_matrix [constraints, candidates], got "
            f"{list(objectives.shape)} and {list(constraints.shape)}."
        )
    return objectives, constraints


def _ranks(values: Any) -> Any:
    """From 1; equal values have the same, the lowest one."""
    return 1 + np.searchsorted(np.sort(values), values)


def _mixture(objectives: Any, constraints: Any, violation: float) -> Any:
    """The best probabilities with which no constraint is above ``violation``, or None."""
    from scipy.optimize import linprog

    found = linprog(
        objectives,
        A_ub=constraints,
        b_ub=np.full(len(constraints), violation),
        A_eq=np.ones((1, objectives.size)),
        b_eq=[1.0],
        bounds=(0, None),
    )
    return found.x if found.success else None
