"""Regions: connected element-wise nodes of one shape become one kernel with several results.

A cone (`fusion`) has one result, which suits large arrays. The small arrays of a training step are
used by both the loss and the gradient, so a region returns every value that is used outside it. It
grows along the edges as long as no path leaves the region and comes back: that would be a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.expression import SELECT_ROWS, TRUTH_AS_NUMBER, Region
from dataflow.kernels.jit.regions import EQUAL_SHAPES, fits, small_source
from dataflow.ops.fused import fused_region_op
from dataflow.ops.sources import make_constant
from dataflow.rewrites.control_flow_positions import OUTSIDE, Position, positions, with_whole_loops
from dataflow.rewrites.effects import Changes
from dataflow.rewrites.fusion import FUSED_NODES
from dataflow.rewrites.gradual import Steps, in_steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

#: With more steps machine code would need too many registers.
_MAX_STEPS = 40
#: Assumed for unknown dimensions.
_GUESSED_SIZE = 64
#: Microseconds for a NumPy call, for each element in it, for the call of a region, and for each of
#: its results (measured on one core).
_CALL, _ELEMENT, _REGION_CALL, _RESULT = 0.6, 0.0002, 2.5, 0.4
#: Numbers are compared by their bits: 0 and -0 differ.
_BITS = {"float32": np.uint32, "float64": np.uint64}
#: With more nodes than this the search takes too long.
MOST_NODES = 20_000


#: The cost of fusing one node, in nodes looked at.
_COST = 10


class RegionKey(NamedTuple):
    """The properties shared by all nodes of a region."""

    dims: tuple[Any, ...]
    dtype: str
    device: str
    place: Position
    on_gpu: bool


class RegionSearch:
    """Regions while they grow: region i has the nodes ``members[i]``.

    ``after[i]`` is a bit mask of the regions that region i depends on. A region that was merged into
    another keeps its number and depends on that one.
    """

    def __init__(self) -> None:
        self.members: list[list[Operation]] = []
        self.keys: list[RegionKey] = []
        self.after: list[int] = []
        #: The regions that a node outside depends on, or a node's own region.
        self.waits: dict[Operation, int] = {}
        self.number: dict[Operation, int] = {}

    def closure(self, mask: int) -> int:
        """The regions of ``mask`` and all that these depend on."""
        result = mask
        while mask:
            lowest = mask & -mask
            result |= self.after[lowest.bit_length() - 1]
            mask ^= lowest
        return result

    def add(self, op: Operation, key: RegionKey) -> None:
        """Adds ``op`` to the region of one of its inputs, or to a new one."""
        sources = {t.op for t in op.inputs}
        near = sorted({self.number[s] for s in sources if s in self.number})
        near = [i for i in near if self.keys[i] == key]
        for i in near[1:]:
            self._join(near[0], i)
        chosen = None
        for i in near:
            if not 0 < len(self.members[i]) < _MAX_STEPS:
                continue
            others = 0
            for source in sources:
                if self.number.get(source) != i:
                    others |= self.waits.get(source, 0)
            others = self.closure(others)
            if not others >> i & 1:
                chosen = i
                self.members[i].append(op)
                self._wait(i, others)
                break
        if chosen is None:
            chosen = len(self.members)
            self.members.append([op])
            self.keys.append(key)
            self.after.append(self.closure(self._waits_of(op)))
        self.number[op] = chosen
        self.waits[op] = 1 << chosen

    def _waits_of(self, op: Operation) -> int:
        mask = 0
        for t in op.inputs:
            mask |= self.waits.get(t.op, 0)
        for control in op.control_inputs:
            mask |= self.waits.get(control, 0)
        return mask

    def pass_by(self, op: Operation, also: Iterable[Operation] = ()) -> None:
        """Notes a node that is in no region; it waits for ``also`` besides its inputs."""
        mask = self._waits_of(op)
        for source in also:
            mask |= self.waits.get(source, 0)
        self.waits[op] = mask

    def _wait(self, i: int, mask: int) -> None:
        """Makes region i, and every region that depends on it, depend on those of ``mask``."""
        if mask & ~self.after[i]:
            self.after[i] |= mask
            for j, after in enumerate(self.after):
                if after >> i & 1:
                    self.after[j] = after | mask

    def _join(self, i: int, j: int) -> None:
        """Merges region j into region i where neither depends on the other."""
        if self.after[i] >> j & 1 or self.after[j] >> i & 1:
            return
        if len(self.members[i]) + len(self.members[j]) > _MAX_STEPS:
            return
        for op in self.members[j]:
            self.number[op] = i
            self.waits[op] = 1 << i
        self.members[i] += self.members[j]
        self.members[j] = []
        mask = self.after[j]
        waiting = [k for k, after in enumerate(self.after) if after >> j & 1]
        self._wait(i, mask)
        for k in [j, *waiting]:
            self.after[k] |= 1 << i | self.after[i]


def grow(
    work: WorkingGraph,
    ops: list[Operation],
    where: Mapping[Operation, Position],
    key_of: Callable[[Operation, RegionSearch], RegionKey | None],
) -> Steps[RegionSearch]:
    """The regions of nodes of the same key, each with its nodes in order; None: in no region."""
    search = RegionSearch()
    ops, waits = with_whole_loops(ops, set(work.feed_tensors), where)
    for some in in_steps(ops):
        for op in some:
            key = key_of(op, search)
            if key is None:
                search.pass_by(op, waits.get(op, ()))
            else:
                search.add(op, key)
        yield 5 * len(some)
    place = {op: i for i, op in enumerate(ops)}
    for members in search.members:
        members.sort(key=place.__getitem__)
    return search


def is_read_outside(
    output: Tensor, inside: Collection[Operation], needed: set[Operation], fetched: set[Tensor]
) -> bool:
    """Whether a node other than those ``inside`` needs the value, or it is fetched."""
    return output in fetched or any(c in needed and c not in inside for c in output.uses)


def wait_for_kernel(work: WorkingGraph, members: list[Operation], kernel: Operation) -> None:
    """Lets nodes that wait for a member, such as the update of a variable that it reads, wait for the kernel."""
    for op in members:
        if op.control_outputs:
            work.replace_node(op, kernel)


def run(
    work: WorkingGraph,
    journal: list[Hit],
    batch_size_hint: int | None = None,
    gpu_nodes: Collection[Operation] = (),
) -> Steps[None]:
    """Replaces each region by a `_FusedRegion` node.

    ``gpu_nodes``: the user's nodes whose kernels run on a GPU.
    """
    ops = work.needed()
    if len(ops) > MOST_NODES:
        return
    where, changes = positions(ops, work.feed_tensors), Changes(ops)
    search = yield from grow(
        work,
        ops,
        where,
        lambda op, _: region_key(op, changes, where.get(op, OUTSIDE), work.origin[op] in gpu_nodes),
    )
    needed, fetched = set(ops), work.fetched_values()
    for members, key in zip(search.members, search.keys, strict=True):
        if len(members) < 2:
            continue
        results = _results(members, needed, fetched, key)
        if results and _worthwhile(members, results, key, batch_size_hint or _GUESSED_SIZE):
            joins = _joins(results, needed, where, key)
            _fuse(work, journal, members, results, key, joins)
            yield _COST * len(members)


def region_key(op: Operation, changes: Changes, place: Position, on_gpu: bool) -> RegionKey | None:
    """The properties that all nodes of a region must share; ``None`` for a node that cannot be in one."""
    if place.is_dead or len(op.outputs) != 1 or op.control_inputs:
        return None
    output = op.outputs[0]
    if not output.dims:  # Python's operators are faster for scalars
        return None
    if op.type == "BiasAdd" and op.attrs.get("data_format", "NHWC") not in ("NHWC", b"NHWC"):
        return None
    if op.type == TRUTH_AS_NUMBER and op.inputs[0].dtype.name != "bool":
        return None
    if op.type == "Select" and op.inputs[0].dims != output.dims and not _chooses_rows(op):
        return None
    if any(t.dtype.is_ref and not changes.are_over(t) for t in op.inputs):
        return None
    names = {t.dtype.base_dtype.name for t in (*op.inputs, output)} - {"bool"}
    if len(names) != 1:
        return None
    (dtype,) = names
    if dtype not in ("float32", "float64") or not fits(op.type, dtype):
        return None
    return RegionKey(tuple(output.dims), dtype, op.device, place, on_gpu)


def _chooses_rows(op: Operation) -> bool:
    """True for a Select with one truth value for each row."""
    condition, *values = (t.dims for t in op.inputs)
    return (
        condition is not None
        and len(condition) == 1
        and all(v is not None and len(v) > 1 and v == op.outputs[0].dims for v in values)
    )


def _results(
    members: list[Operation], needed: set[Operation], fetched: set[Tensor], key: RegionKey
) -> list[Tensor]:
    """The values that are used outside the region.

    A bool that is used outside is computed again by its own node, from results of the region.
    """
    inside = set(members)
    results = []
    for op in reversed(members):
        output = op.outputs[0]
        if not is_read_outside(output, inside, needed, fetched):
            continue
        if output.dtype.name == key.dtype:
            results.append(output)
        else:
            inside.remove(op)
    return results[::-1]


def _joins(
    results: list[Tensor], needed: set[Operation], where: dict[Operation, Position], key: RegionKey
) -> list[Operation]:
    """Nodes that only concatenate results along the last axis: the kernel writes these in place."""
    found: list[Operation] = []
    taken: set[Tensor] = set()
    for result in results:
        for op in dict.fromkeys(result.uses):
            if op.type != "ConcatV2" or op not in needed or op.control_inputs:
                continue
            *parts, axis = op.inputs
            if where.get(op, OUTSIDE) != key.place or op.device != key.device:
                continue
            if axis.op.type != "Const" or int(axis.op.attrs["value"]) not in (
                -1,
                len(key.dims) - 1,
            ):
                continue
            if len(set(parts)) < len(parts) or taken & set(parts) or not set(parts) <= set(results):
                continue
            found.append(op)
            taken.update(parts)
    return found


def _worthwhile(
    members: list[Operation], results: list[Tensor], key: RegionKey, batch_size_hint: int
) -> bool:
    if key.on_gpu:  # where most of a small kernel's time is its launch
        return True
    size = 1
    for d in key.dims:
        size *= batch_size_hint if d is None else d
    calls = sum(len(op.inputs) - 1 if op.type == "AddN" else 1 for op in members)
    alone = calls * (_CALL + size * _ELEMENT)
    return alone > _REGION_CALL + len(results) * (_RESULT + size * _ELEMENT)


def _with_numbers(inputs: list[Tensor], members: list[Operation], key: RegionKey) -> list[Tensor]:
    """``inputs`` with a scalar in place of each constant array whose elements are all equal.

    Only where another input has the shape of the results, and where every step that uses the scalar
    broadcasts and gets its result's shape from another operand.
    """
    strict = {
        t
        for op in members
        for t in op.inputs
        if (op.type in EQUAL_SHAPES and (op.type != "Select" or _chooses_rows(op)))
        or not any(
            other.op.type != "Const" and other.dims == op.outputs[0].dims for other in op.inputs
        )
    }
    # In a branch the constant also shows that the branch was taken.
    whole = (
        None not in key.dims
        and not key.place.branches
        and any(
            t.op.type != "Const" and t.dims is not None and tuple(t.dims) == key.dims
            for t in inputs
        )
    )
    if not whole:
        return inputs
    found = []
    for t in inputs:
        if t.op.type == "Const" and t.dims and t.dtype.name == key.dtype and t not in strict:
            bits = t.op.attrs["value"].view(_BITS[key.dtype]).reshape(-1)
            if bits.size and bool((bits == bits[0]).all()):
                t = make_constant(bits[:1].view(key.dtype)[0], t.dtype, None, "number")
        found.append(t)
    return found


def _region(
    members: list[Operation], results: list[Tensor], key: RegionKey
) -> tuple[Region, list[Tensor], list[Tensor]]:
    """The nodes as one expression, the conditions that choose rows in it, and its other inputs."""
    inside = {op.outputs[0] for op in members}
    by_rows = [op for op in members if op.type == "Select" and _chooses_rows(op)]
    conditions = list(dict.fromkeys(op.inputs[0] for op in by_rows))
    choosing = {op: conditions.index(op.inputs[0]) for op in by_rows}
    inputs = list(
        dict.fromkeys(
            t for op in members for t in op.inputs[1 if op in choosing else 0 :] if t not in inside
        )
    )
    numbers = {t: i for i, t in enumerate(inputs, len(conditions))}
    steps = []
    known = None not in key.dims
    for op in members:
        if op in choosing:
            values = tuple(numbers[t] for t in op.inputs[1:])
            steps.append((SELECT_ROWS, (choosing[op], *values)))
        else:
            # Where the shapes are known to be equal, there is nothing to check.
            op_type = "SelectV2" if op.type == "Select" and known else op.type
            steps.append((op_type, tuple(numbers[t] for t in op.inputs)))
        numbers[op.outputs[0]] = len(conditions) + len(numbers)
    region = Region(
        len(conditions) + len(inputs), tuple(steps), tuple(numbers[t] for t in results), key.dtype
    )
    return region, conditions, inputs


def _fuse(
    work: WorkingGraph,
    journal: list[Hit],
    members: list[Operation],
    results: list[Tensor],
    key: RegionKey,
    joins: list[Operation],
) -> None:
    region, conditions, inputs = _region(members, results, key)
    with use_graph(work.graph):
        work.begin(results[-1])
        replacements: Any = fused_region_op(
            [*conditions, *_with_numbers(inputs, members, key)],
            region=region,
            T=results[0].dtype,
            N=len(results) + len(joins),
            output_shape=key.dims,
            joined=tuple(tuple(results.index(t) for t in op.inputs[:-1]) for op in joins),
            name="fused",
        )
        kernel = replacements[0].op
        # The nodes that an error in the kernel is reported for.
        kernel._set_attr(FUSED_NODES, tuple(work.origin[op] for op in members))
        for op, new in zip(joins, replacements[len(results) :], strict=True):
            work.replace(op.outputs[0], new)
        for old, new in zip(results, replacements, strict=False):
            work.replace(old, new)
        wait_for_kernel(work, members, kernel)
    plural = "s" if len(results) > 1 else ""
    journal.append(
        Hit(
            "fusion",
            f"{' . '.join(s[0] for s in reversed(region.steps))} -> one kernel with {len(results)} "
            f"result{plural}",
            results[-1].name,
            replacements[len(results) - 1].name,
            tuple(op.name for op in [*members, *joins]),
            (kernel.name,),
            small_source(region),
        )
    )
