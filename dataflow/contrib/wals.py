"""Weighted alternating least squares: a sparse matrix as a product of two narrow ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.gather_scatter import gather
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import cast, matmul, reduce_sum, square
from dataflow.ops.matrix_diag import eye, trace
from dataflow.ops.random import random_normal
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.selection import boolean_mask
from dataflow.ops.sequences import unique
from dataflow.ops.solvers import matrix_solve
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.state import assign, scatter_update
from dataflow.ops.variable_lists import variables_initializer
from dataflow.ops.variables import Variable


class _Side(NamedTuple):
    """The rows, or the columns, of the matrix: shards of factors and weights, and the Gramian."""

    size: int
    factors: list[Any]
    weights: list[Any] | None
    gramian: Any


class WALSModel:
    """Factors U [rows, n], V [columns, n] that minimize a weighted squared error, in turns.

    The error of an entry (i, j) weighs ``unobserved_weight``, and where the input has a value
    ``row_weights[i] * col_weights[j]`` more; ``regularization`` times the squares of all factors is
    added. With both weights None all entries weigh the same (ALS). ``row_init`` and ``col_init`` are
    "random" (a normal distribution), arrays, lists of one array for each shard, or functions that give
    one of these; weights are numbers, one for all, or lists, one for each shard.

    A round is: ``row_update_prep_gramian_op``, ``initialize_row_update_op``, the update op of
    `update_row_factors` for all rows, and the same with columns. All variables are read where they
    are: there are no copies on workers, so that ``worker_init`` and the initializing ops do nothing,
    and the arguments about caches change nothing. Hu, Koren, Volinsky, "Collaborative Filtering for
    Implicit Feedback Datasets" (2008).
    """

    def __init__(
        self,
        input_rows: int,
        input_cols: int,
        n_components: int,
        unobserved_weight: float = 0.1,
        regularization: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache: bool = True,
        use_gramian_cache: bool = True,
        use_scoped_vars: bool = False,
    ) -> None:
        if (row_weights is None) != (col_weights is None):
            raise ValueError(
                "WALSModel needs row_weights and col_weights, or None for both; got "
                f"row_weights={row_weights!r} and col_weights={col_weights!r}."
            )
        self._n, self._unobserved, self._regularization = (
            n_components,
            unobserved_weight,
            regularization,
        )
        row_sizes = _shard_sizes(input_rows, num_row_shards)
        col_sizes = _shard_sizes(input_cols, num_col_shards)
        weights = [
            _weights(given, sizes, name)
            for given, sizes, name in (
                (row_weights, row_sizes, "row_weights"),
                (col_weights, col_sizes, "col_weights"),
            )
        ]
        factors = [
            _factors(given, sizes, n_components, name)
            for given, sizes, name in (
                (row_init, row_sizes, "row_factors"),
                (col_init, col_sizes, "col_factors"),
            )
        ]
        gramians = [
            Variable(array.zeros([n_components, n_components]), name=name)
            for name in ("row_gramian", "col_gramian")
        ]
        self._rows = _Side(input_rows, factors[0], weights[0], gramians[0])
        self._cols = _Side(input_cols, factors[1], weights[1], gramians[1])
        self._prepare_rows, self._prepare_cols = _prepare(self._cols), _prepare(self._rows)

    # ---- reading --------------------------------------------------------------------------

    @property
    def row_factors(self) -> list[Any]:
        """The variables of U, [rows of the shard, n] each."""
        return self._rows.factors

    @property
    def col_factors(self) -> list[Any]:
        """The variables of V, [columns of the shard, n] each."""
        return self._cols.factors

    @property
    def row_weights(self) -> list[Any] | None:
        """The variables of the rows' weights, or None."""
        return self._rows.weights

    @property
    def col_weights(self) -> list[Any] | None:
        """The variables of the columns' weights, or None."""
        return self._cols.weights

    # ---- ops of a round -------------------------------------------------------------------

    @property
    def initialize_op(self) -> Any:
        """Gives all variables of the model their first values."""
        sides = (self._rows, self._cols)
        found = [v for s in sides for v in [*s.factors, s.gramian, *(s.weights or [])]]
        return variables_initializer(found)

    @property
    def worker_init(self) -> Any:
        """Does nothing: no worker has copies."""
        return no_op()

    @property
    def row_update_prep_gramian_op(self) -> Any:
        """Computes V^T V, before the rows are updated."""
        return self._prepare_rows

    @property
    def col_update_prep_gramian_op(self) -> Any:
        """Computes U^T U, before the columns are updated."""
        return self._prepare_cols

    @property
    def initialize_row_update_op(self) -> Any:
        """Does nothing: no worker has copies."""
        return no_op()

    initialize_col_update_op = initialize_row_update_op

    def update_row_factors(
        self, sp_input: SparseTensor | None = None, transpose_input: bool = False
    ) -> tuple[Any, Any, Any, Any, Any]:
        """(new values, update op, error, regularization, sum of weights) for some rows of the matrix.

        ``sp_input`` has these rows under their own indices (columns with ``transpose_input``). The
        last three are numbers, scaled from the rows in it to all rows.
        """
        return self._solve(self._rows, self._cols, sp_input, transpose_input, None)

    def update_col_factors(
        self, sp_input: SparseTensor | None = None, transpose_input: bool = False
    ) -> tuple[Any, Any, Any, Any, Any]:
        """As `update_row_factors`, for columns."""
        return self._solve(self._cols, self._rows, sp_input, not transpose_input, None)

    def project_row_factors(
        self,
        sp_input: SparseTensor | None = None,
        transpose_input: bool = False,
        projection_weights: Any = None,
    ) -> Any:
        """The factors that rows would have, [rows of ``sp_input``, n]; nothing is updated."""
        weights = 1.0 if projection_weights is None else projection_weights
        return self._solve(self._rows, self._cols, sp_input, transpose_input, weights)[0]

    def project_col_factors(
        self,
        sp_input: SparseTensor | None = None,
        transpose_input: bool = False,
        projection_weights: Any = None,
    ) -> Any:
        """As `project_row_factors`, for columns."""
        weights = 1.0 if projection_weights is None else projection_weights
        return self._solve(self._cols, self._rows, sp_input, not transpose_input, weights)[0]

    def _solve(
        self, left: _Side, right: _Side, sp_input: Any, transpose: bool, own_weights: Any
    ) -> tuple[Any, Any, Any, Any, Any]:
        if not isinstance(sp_input, SparseTensor):
            raise TypeError(f"WALSModel needs a tf.SparseTensor as sp_input, got {sp_input!r}.")
        with name_scope("wals_update"):
            of_row, of_col = sp_input.indices[:, 0], sp_input.indices[:, 1]
            if transpose:
                of_row, of_col = of_col, of_row
            rows, place = unique(of_row)
            count = array.shape(rows)[0]
            values = cast(sp_input.values, dtypes.float32)
            known = gather(_whole(right.factors), of_col)
            system = self._unobserved * right.gramian
            if self._regularization is not None:
                system += self._regularization * eye(self._n)
            extra = None
            if left.weights is None or right.weights is None:
                sums = unsorted_segment_sum(
                    self._unobserved * values[:, None] * known, place, count
                )
                solved = array.transpose(matrix_solve(system, array.transpose(sums)))
            else:
                if own_weights is None:
                    row_weights = gather(_whole(left.weights), rows)
                else:
                    given = convert_to_tensor(own_weights, dtypes.float32)
                    row_weights = array.ones([count]) * given
                extra = gather(row_weights, place) * gather(_whole(right.weights), of_col)
                outer = known[:, :, None] * (extra[:, None] * known)[:, None, :]
                systems = system[None] + unsorted_segment_sum(outer, place, count)
                scale = (self._unobserved + extra) * values
                sums = unsorted_segment_sum(scale[:, None] * known, place, count)
                solved = matrix_solve(systems, sums[:, :, None])[:, :, 0]
            approximate = reduce_sum(gather(solved, place) * known, 1)
            numbers = self._numbers(left, right, solved, values, approximate, extra, count)
            return solved, _scatter(left.factors, rows, solved), *numbers

    def _numbers(
        self, left: _Side, right: _Side, solved: Any, values: Any, near: Any, extra: Any, count: Any
    ) -> tuple[Any, Any, Any]:
        """The error, the regularization and the sum of weights, scaled to all rows."""
        scale = left.size / cast(count, dtypes.float32)
        products = matmul(solved, solved, transpose_a=True)
        wrong = square(values - near)
        error = self._unobserved * (
            reduce_sum(wrong) - reduce_sum(square(near)) + trace(matmul(products, right.gramian))
        )
        weights = convert_to_tensor(float(self._unobserved * left.size * right.size))
        if extra is not None:
            error += reduce_sum(extra * wrong)
            weights += reduce_sum(extra) * scale
        penalty = convert_to_tensor(0.0)
        if self._regularization is not None:
            penalty = self._regularization * (trace(products) * scale + trace(right.gramian))
        return error * scale, penalty, weights


def _prepare(side: _Side) -> Any:
    """Sets the Gramian of a side's factors."""
    total = sum(matmul(part, part, transpose_a=True) for part in side.factors)
    return group(assign(side.gramian, total))


def _shard_sizes(size: int, shards: int) -> list[int]:
    each, rest = divmod(size, shards)
    return [each + 1] * rest + [each] * (shards - rest)


def _factors(given: Any, sizes: Sequence[int], n: int, name: str) -> list[Any]:
    if callable(given):
        given = given()
    if isinstance(given, str):
        if given != "random":
            raise ValueError(f"{name} start 'random' or with values, got {given!r}.")
        parts: list[Any] = [random_normal([size, n]) for size in sizes]
    else:
        parts = given if isinstance(given, list) and len(sizes) > 1 else [given]
    return _shards(parts, sizes, name)


def _weights(given: Any, sizes: Sequence[int], name: str) -> list[Any] | None:
    if given is None:
        return None
    if isinstance(given, Real):
        if float(given) < 0:
            raise ValueError(f"{name} must not be negative, got {given!r}.")
        return _shards([float(given) * array.ones([size]) for size in sizes], sizes, name)
    if not isinstance(given, Iterable):
        raise ValueError(f"{name} must be None, a number, or a list of numbers; got {given!r}.")
    parts = list(given)
    return _shards([parts] if len(sizes) == 1 and len(parts) == sizes[0] else parts, sizes, name)


def _shards(parts: Sequence[Any], sizes: Sequence[int], name: str) -> list[Any]:
    if len(parts) != len(sizes):
        raise ValueError(f"{name} need values for {len(sizes)} shards, got {len(parts)}.")
    made = [convert_to_tensor(part, dtypes.float32) for part in parts]
    return [Variable(part, name=f"{name}_shard_{i}") for i, part in enumerate(made)]


def _whole(shards: Sequence[Any]) -> Any:
    return shards[0] if len(shards) == 1 else array.concat(list(shards), 0)


def _scatter(shards: Sequence[Any], rows: Any, values: TensorLike) -> Any:
    """Puts each row's values into the shard that has it."""
    if len(shards) == 1:
        return scatter_update(shards[0], rows, values).op
    updates, start = [], 0
    for shard in shards:
        size = shard.shape.as_list()[0]
        here = (rows >= start) & (rows < start + size)
        updates.append(
            scatter_update(shard, boolean_mask(rows, here) - start, boolean_mask(values, here))
        )
        start += size
    return group(*updates)
