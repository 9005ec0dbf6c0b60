"""Kernels of the ops in `dataflow.ops.matrix_functions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

#: Eigenvectors that are further from a basis lose too many digits of float64.
_MOST_CONDITION = 1e6
_MOST_ROUNDS = 60
#: How far from the identity the logarithm's quadrature is good to float64, and its nodes in [0, 1].
_NEAR = 0.25
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(9) + np.array([[1.0], [0.0]])) / 2


def _each(xp: Module, x: Array, function: Callable[[Any], Any]) -> Any:
    """``function`` of each matrix of a stack, in double precision."""
    size = x.shape[-1]
    if not x.size:
        return x
    parts = xp.asarray(x, "D" if x.dtype.kind == "c" else "d").reshape(-1, size, size)
    out = xp.stack([function(part) for part in parts]).reshape(x.shape)
    return (out if x.dtype.kind == "c" else out.real).astype(x.dtype, copy=False)


def _by_eigenvalues(a: Array, function: Callable[[Any], Any]) -> Any:
    """``V @ diag(function(w)) @ V^-1``; None where the eigenvectors are no good basis."""
    if np.array_equal(a, a.conj().T):
        w, v = np.linalg.eigh(a)
        return (v * function(w.astype("D"))) @ v.conj().T
    w, v = np.linalg.eig(a.astype("D"))
    if not np.linalg.cond(v) < _MOST_CONDITION:
        return None
    return (v * function(w)) @ np.linalg.inv(v)


def _square_root(a: Array) -> Any:
    found = _by_eigenvalues(a, np.sqrt)
    if found is not None:
        return found
    # The product form of the Denman-Beavers iteration: Higham, Functions of Matrices (2008), (6.29).
    identity = np.eye(len(a))
    m, x = a.astype("D"), a.astype("D")
    for _ in range(_MOST_ROUNDS):
        inverse = np.linalg.inv(m)
        x = x @ (identity + inverse) / 2
        m = (2 * identity + m + inverse) / 4
        if np.abs(m - identity).max() < 1e-15 * len(a):
            break
    return x


def _logarithm(a: Array) -> Any:
    found = _by_eigenvalues(a, np.log)
    if found is not None:
        return found
    # Square roots bring it near the identity, where the integral of X / (1 + tX) is summed.
    identity, doubled, root = np.eye(len(a)), 1.0, a
    for _ in range(_MOST_ROUNDS):
        if np.linalg.norm(root - identity, 1) < _NEAR:
            break
        root, doubled = _square_root(root), 2 * doubled
    x = root - identity
    terms = (
        weight * np.linalg.solve(identity + node * x, x)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True)
    )
    return doubled * sum(terms)


_ON_HOST = "eigenvalues of general matrices are found on the host alone"


@kernel("MatrixSquareRoot", cpu_only=_ON_HOST)
def matrix_square_root_kernel(xp: Module, x: Array) -> Any:
    try:
        return _each(xp, x, _square_root)
    except np.linalg.LinAlgError as e:
        raise ValueError(f"the input has no square root that could be found ({e})") from e


@kernel("MatrixLogarithm", cpu_only=_ON_HOST)
def matrix_logarithm_kernel(xp: Module, x: Array) -> Any:
    try:
        return _each(xp, x, _logarithm)
    except np.linalg.LinAlgError as e:
        raise ValueError(f"Input matrix is not invertible ({e}).") from e
