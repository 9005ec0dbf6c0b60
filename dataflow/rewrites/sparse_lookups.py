"""Lookups of sparse ids, as `safe_embedding_lookup_sparse` builds them for feature columns, as one kernel.

What is built (thirty nodes for each column) drops ids below 0, fills rows without ids, finds the
different ids, takes their rows, combines them, and sets the rows that were filled to zeros. In most
batches each row has one id, and then the result is the ids' rows of the table. The kernel looks for
that first, and else does what the nodes do. It also returns what the gradients need.

Beside it: the zeros of a gradient's filled rows, and sums over ids that are different already, which
optimizers ask for before they update rows.
"""

from __future__ import annotations

from typing import NamedTuple

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import safe_embedding_lookup_op, zero_empty_rows_op
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.repeated_rows import is_length
from dataflow.rewrites.working_graph import WorkingGraph

_COMBINERS = {"SparseSegmentSum": "sum", "SparseSegmentMean": "mean", "SparseSegmentSqrtN": "sqrtn"}
#: Their results start from zero, so a sum of each of their rows alone has the same bits.
_SUMS_OF_ROWS = (
    "UnsortedSegmentSum",
    "SparseSegmentSumGrad",
    "SparseSegmentMeanGrad",
    "SparseSegmentSqrtNGrad",
)


class _Lookup(NamedTuple):
    """The nodes of a lookup that stay needed, and its inputs."""

    params: Tensor
    indices: Tensor
    ids: Tensor
    dense_shape: Tensor
    default: Tensor
    combiner: str
    #: Row and values after empty rows were filled, and which rows those are.
    segments: Tensor
    filled: Tensor
    empty: Tensor
    #: The different ones of those values, and which each is; whether the gradient asks for them.
    unique: Operation
    tells_different: bool
    #: The combined rows before and after zeros were put in, and as the last reshape gives them.
    combined: Tensor
    result: Tensor
    final: Tensor | None


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Replaces the lookups, and then what belongs to their gradients."""
    ops = work.needed()
    if not any(op.type in ("SparseFillEmptyRows", "Unique") for op in ops):
        return
    where = positions(ops, work.feed_tensors)
    outside = [op for op in ops if where.get(op, OUTSIDE) == OUTSIDE]
    for op in outside:
        if op.type == "SparseFillEmptyRows":
            found = _found(op, _kept(work))
            if found is not None:
                _replace_lookup(work, journal, op, found)
    for op in outside:
        if op.type == "Select":
            _replace_zeros(work, journal, op)
        elif op.type == "Unique":
            _replace_second_unique(work, journal, op)


def _kept(work: WorkingGraph) -> set[Tensor]:
    return {*work.fetched_values(), *work.feed_tensors}


# ---- reading a graph ------------------------------------------------------------------------------


def _constant(tensor: Tensor, *numbers: int) -> bool:
    """Whether a tensor is a constant of these numbers."""
    op = tensor.op
    if op.type != "Const" or op.control_inputs:
        return False
    return bool(op.attrs["value"].reshape(-1).tolist() == list(numbers))


def _source(tensor: Tensor, *op_types: str) -> Operation | None:
    """The node that makes a tensor, behind nodes that pass it on, if it is of one of these types."""
    while tensor.op.type == "Identity" and not tensor.op.control_inputs:
        tensor = tensor.op.inputs[0]
    op = tensor.op
    return op if op.type in op_types and not op.control_inputs else None


def _only_user(tensor: Tensor, *op_types: str) -> Operation | None:
    users = [u for u in dict.fromkeys(tensor.uses) if u.type in op_types]
    return users[0] if len(users) == 1 else None


def _found(fill: Operation, kept: set[Tensor]) -> _Lookup | None:
    """The lookup around a node that fills empty rows; ``None`` where a part is missing or seen elsewhere."""
    before = _before(fill)
    segments = _segments_of(fill)
    unique = _only_user(fill.outputs[1], "Unique")
    if before is None or segments is None or unique is None:
        return None
    gathered = _only_user(unique.outputs[0], "GatherV2", "ResourceGather")
    if gathered is None or gathered.inputs[1] is not unique.outputs[0]:
        return None
    if gathered.attrs.get("batch_dims", 0):
        return None
    if gathered.type == "GatherV2" and not _constant(gathered.inputs[2], 0):
        return None
    rows = gathered.outputs[0]
    while (passed := _only_user(rows, "Identity")) is not None:
        rows = passed.outputs[0]
    combining = [u for u in dict.fromkeys(rows.uses) if u.type in _COMBINERS]
    params = gathered.inputs[0]
    if len(combining) != 1 or params.dims is None or len(params.dims) != 2:
        return None
    if combining[0].inputs != [rows, unique.outputs[1], segments]:
        return None
    combined = combining[0].outputs[0]
    chosen = _only_user(combined, "Select")
    if chosen is None or chosen.inputs[2] is not combined or not _is_zeros(chosen.inputs[1]):
        return None
    empty = _empty_behind(chosen.inputs[0])
    if empty is not fill.outputs[2]:
        return None
    # Others may ask for the shape of the combined rows alone: those that are zeros in the end differ.
    if any(u is not chosen and u.type not in ("ZerosLike", "Shape") for u in combined.uses):
        return None
    inner = [rows, combined, fill.outputs[0], fill.outputs[3], gathered.outputs[0]]
    if not kept.isdisjoint(inner) or not _is_pure([fill, unique, gathered, combining[0], chosen]):
        return None
    indices, ids, dense_shape = before
    return _Lookup(
        params,
        indices,
        ids,
        dense_shape,
        fill.inputs[3],
        _COMBINERS[combining[0].type],
        segments,
        fill.outputs[1],
        empty,
        unique,
        any(u not in (gathered, combining[0]) for t in unique.outputs for u in t.uses),
        combined,
        chosen.outputs[0],
        _final(chosen.outputs[0], dense_shape),
    )


def _is_pure(ops: list[Operation]) -> bool:
    """Whether nothing is ordered by these nodes."""
    return not any(op.control_inputs or op.control_outputs for op in ops)


def _before(fill: Operation) -> tuple[Tensor, Tensor, Tensor] | None:
    """Indices, ids and shape of the sparse tensor whose negative ids are dropped before the filling."""
    places, values = (_source(t, "GatherV2") for t in fill.inputs[:2])
    reshaped = _source(fill.inputs[2], "SparseReshape")
    if places is None or values is None or reshaped is None:
        return None
    if places.inputs[0] is not reshaped.outputs[0] or fill.inputs[2] is not reshaped.outputs[1]:
        return None
    if places.inputs[1] is not values.inputs[1]:
        return None
    if not _constant(places.inputs[2], 0) or not _constant(values.inputs[2], 0):
        return None
    flat = _source(places.inputs[1], "Reshape")
    listed = None if flat is None else _source(flat.inputs[0], "Where")
    if flat is None or listed is None or not _constant(flat.inputs[1], -1):
        return None
    valid = _source(listed.inputs[0], "GreaterEqual")
    ids = values.inputs[0]
    if valid is None or valid.inputs[0] is not ids or not _constant(valid.inputs[1], 0):
        return None
    indices, shape, flat_shape = reshaped.inputs
    if shape.dims != (2,) or not _is_shape_of_rows(flat_shape, shape):
        return None
    users = {*places.outputs[0].uses, *values.outputs[0].uses}
    if users != {fill} or {*reshaped.outputs[0].uses} != {places}:
        return None
    return indices, ids, shape


def _is_shape_of_rows(flat: Tensor, shape: Tensor) -> bool:
    """Whether ``flat`` is a shape of two axes again, put together from its first and its last one."""
    pack = _source(flat, "Pack")
    if pack is None or len(pack.inputs) != 2:
        return False
    product, last = _source(pack.inputs[0], "Prod"), _source(pack.inputs[1], "GatherV2")
    if product is None or last is None or not _constant(product.inputs[1], 0):
        return False
    first = _source(product.inputs[0], "Slice")
    if first is None or first.inputs[0] is not shape or last.inputs[0] is not shape:
        return False
    if not _constant(first.inputs[1], 0) or not _constant(first.inputs[2], 1):
        return False
    return _constant(last.inputs[1], 1) and _constant(last.inputs[2], 0)


def _segments_of(fill: Operation) -> Tensor | None:
    """The row of each id as int32: the first column of the filled indices."""
    column = _only_user(fill.outputs[0], "StridedSlice")
    if column is None or len(set(fill.outputs[0].uses)) != 1:
        return None
    wanted = ((1, (0, 0)), (2, (0, 1)), (3, (1, 1)))
    if any(not _constant(column.inputs[i], *numbers) for i, numbers in wanted):
        return None
    masks = {name: column.attrs[f"{name}_mask"] for name in ("begin", "end", "shrink_axis")}
    if masks != {"begin": 1, "end": 1, "shrink_axis": 2}:
        return None
    if column.attrs["ellipsis_mask"] or column.attrs["new_axis_mask"]:
        return None
    cast = _only_user(column.outputs[0], "Cast")
    if cast is None or set(column.outputs[0].uses) != {cast}:
        return None
    result = cast.outputs[0]
    return result if result.dtype.name == "int32" else None


def _is_zeros(tensor: Tensor) -> bool:
    return _source(tensor, "ZerosLike") is not None


def _empty_behind(condition: Tensor) -> Tensor | None:
    """A vector of truths, where ``condition`` repeats it in each column of some rows; else ``None``."""
    tile = _source(condition, "Tile")
    column = None if tile is None else _source(tile.inputs[0], "Reshape")
    times = None if tile is None else _source(tile.inputs[1], "Pack")
    if column is None or times is None or not _constant(column.inputs[1], -1, 1):
        return None
    empty = column.inputs[0]
    if empty.dims is None or len(empty.dims) != 1 or len(times.inputs) != 2:
        return None
    if not _constant(times.inputs[0], 1) or _columns_behind(times.inputs[1]) is None:
        return None
    return empty


def _columns_behind(count: Tensor) -> Tensor | None:
    """The matrix whose number of columns this is."""
    part = _source(count, "StridedSlice")
    if part is None or count.dims != () or not _constant(part.inputs[1], 1):
        return None
    shape = _source(part.inputs[0], "Shape")
    if shape is None or shape.inputs[0].dims is None or len(shape.inputs[0].dims) != 2:
        return None
    return shape.inputs[0]


def _final(rows: Tensor, dense_shape: Tensor) -> Tensor | None:
    """The rows reshaped to the shape that they have: a row for each of the sparse tensor's, and their columns."""
    for reshape in dict.fromkeys(rows.uses):
        if reshape.type != "Reshape" or reshape.inputs[0] is not rows or reshape.control_inputs:
            continue
        parts = _source(reshape.inputs[1], "ConcatV2")
        if parts is None or len(parts.inputs) != 3 or not _constant(parts.inputs[2], 0):
            continue
        outer, columns = _source(parts.inputs[0], "Slice"), _source(parts.inputs[1], "Slice")
        if outer is None or columns is None:
            continue
        sizes = _source(outer.inputs[0], "Cast")
        shape = _source(columns.inputs[0], "Shape")
        if sizes is None or sizes.inputs[0] is not dense_shape:
            continue
        if shape is None or shape.inputs[0] is not rows:
            continue
        if not _constant(outer.inputs[1], 0) or not _constant(outer.inputs[2], 1):
            continue
        if _constant(columns.inputs[1], 1) and _constant(columns.inputs[2], -1):
            return reshape.outputs[0]
    return None


# ---- changing it ----------------------------------------------------------------------------------


def _replace_lookup(
    work: WorkingGraph, journal: list[Hit], fill: Operation, found: _Lookup
) -> None:
    with use_graph(work.graph):
        work.begin(found.result)
        by_handle = found.params.dtype.is_handle
        rows, empty, filled, segments, different, which = safe_embedding_lookup_op(
            get_op("ReadVariableOp")(found.params) if by_handle else found.params,
            found.indices,
            found.ids,
            found.dense_shape,
            found.default,
            combiner=found.combiner,
            tells_different=found.tells_different,
        )
        rows.dims = found.result.dims
        # The last one first: it reads the others.
        if found.final is not None:
            work.replace(found.final, rows)
        work.replace(found.result, rows)
        work.replace(found.combined, rows)
        work.replace(found.segments, segments)
        work.replace(found.filled, filled)
        work.replace(found.unique.outputs[0], different)
        if found.unique.outputs[1].dtype.name == "int32":
            work.replace(found.unique.outputs[1], which)
        work.replace(found.empty, empty)
    _note(
        journal,
        "sparse_lookup",
        "ids -> drop negative ones, fill rows, look up, combine: one kernel",
        found.result,
        rows,
        (fill, found.combined.op, found.result.op),
    )


def _replace_zeros(work: WorkingGraph, journal: list[Hit], select: Operation) -> None:
    """``select(tile(empty), zeros, x)`` -> x with zeros in the empty rows."""
    condition, zeros, x = select.inputs
    empty = _empty_behind(condition)
    if empty is None or x.dims is None or len(x.dims) != 2 or not _is_zeros(zeros):
        return
    if select.control_inputs or not select.outputs[0].uses:
        return
    tile = _source(condition, "Tile")
    assert tile is not None
    matrix = _columns_behind(tile.inputs[1].op.inputs[1])
    if matrix is None or matrix.dims is None or None in (matrix.dims[1], x.dims[1]):
        return
    if matrix.dims[1] != x.dims[1]:
        return
    old = select.outputs[0]
    with use_graph(work.graph):
        work.begin(old)
        new = zero_empty_rows_op(x, empty)
        work.replace(old, new)
    equation = "select(tile(empty), 0, x) -> x with zeros in the empty rows"
    _note(journal, "zero_rows", equation, old, new, (select,))


def _replace_second_unique(work: WorkingGraph, journal: list[Hit], unique: Operation) -> None:
    """`Unique` of ids that are already distinct does nothing, and the sum of a single row is that row."""
    ids = unique.inputs[0]
    if (flat := _source(ids, "Reshape")) is not None and _constant(flat.inputs[1], -1):
        ids = flat.inputs[0]
    first = _source(ids, "Unique", "UniqueWithCounts", "_SafeEmbeddingLookup")
    different, which = unique.outputs
    place = 4 if ids.op.type == "_SafeEmbeddingLookup" else 0
    if first is None or ids is not first.outputs[place]:
        return
    if not which.uses or not _is_pure([unique]):
        return
    sums = list(dict.fromkeys(which.uses))
    kept = _kept(work)
    if which in kept or any(not _sums_rows_alone(op, unique) or not _is_pure([op]) for op in sums):
        return
    with use_graph(work.graph):
        for op in sums:
            work.begin(op.outputs[0])
            work.replace(op.outputs[0], op.inputs[0])
        work.begin(different)
        work.replace(different, ids)
    equation = "unique(unique(x)) -> unique(x), and no sum of rows that are different already"
    _note(journal, "distinct_rows", equation, different, ids, (unique, *sums))


def _sums_rows_alone(op: Operation, unique: Operation) -> bool:
    if op.type != "UnsortedSegmentSum" or op.inputs[1] is not unique.outputs[1]:
        return False
    if op.inputs[0] is unique.outputs[1] or not is_length(op.inputs[2], unique.outputs[0]):
        return False
    rows = op.inputs[0]
    while (flat := _source(rows, "Reshape")) is not None:
        rows = flat.inputs[0]
    return _source(rows, *_SUMS_OF_ROWS) is not None


def _note(
    journal: list[Hit],
    name: str,
    equation: str,
    old: Tensor,
    new: Tensor,
    removed: tuple[Operation, ...],
) -> None:
    journal.append(
        Hit(name, equation, old.name, new.name, tuple(op.name for op in removed), (new.op.name,))
    )
