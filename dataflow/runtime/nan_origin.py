"""Finds where a NaN came from: the first node that makes one from finite inputs.

A fetched number that is NaN or infinite is detected in the run itself, by one comparison soon after
it is computed (`add_checks`), before any variable that it depends on changes. Then the nodes that it
depends on are computed again, one by one, from the same feeds and variables, and their values are
checked. Random ops draw the same numbers again from copies of their streams; the values that a queue,
an iterator or a Python function returned are reused. So the second computation changes nothing.

Only scalars are checked, such as losses, in plans that run on this process's CPU. Not covered: runs
on a cluster or a GPU, arrays, and numbers that depend on a variable that is assigned before them in
the same run. `find` checks any fetch on request.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import UnimplementedError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.registry import bind
from dataflow.kernels.subnormals import Computing
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import can_merge, variable_behind
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime.codegen import DEAD, Generator, Line
from dataflow.runtime.kernel_context import KernelContext
from dataflow.runtime.nonfinite_report import (
    NonFiniteOrigin,
    NonFiniteWarning,
    ValueSummary,
    summarize,
)

if TYPE_CHECKING:
    from dataflow.kernels.philox import Stream
    from dataflow.runtime.plan import Plan

#: How a line of a loop or branch begins.
_BLOCKS = re.compile("(?:if|elif|else|while)\\b")
#: Files of this package, and the code of plans.
_OURS = re.compile(re.escape(str(Path(__file__).resolve().parents[1])) + "|<dataflow ")


class _Refused(Exception):
    """The fetch cannot be computed again without changing state."""


class _Found(Exception):
    """A NaN was found; the rest need not run."""


def add_checks(plan: Plan, generator: Generator, origin: dict[Operation, Operation]) -> None:
    """Adds lines that check the fetched scalars before anything that depends on them has an effect.

    ``origin`` maps the generator's nodes to the user's.
    """
    for number, fetch in enumerate(generator.fetches):
        value = generator.values.get(fetch)
        if fetch.dims != () or not fetch.dtype.is_floating or value is None or value.is_ref:
            continue
        place = max((i for i, x in enumerate(generator.lines) if value.text in x.sets), default=-1)
        if place < 0:
            continue
        place += 1
        while generator.lines[place].indent > 1 or generator.lines[place].text.startswith("el"):
            place += 1
        place = _after_computing(generator.lines, place)
        cone = needed_operations([fetch], [], generator.feeds)
        if _changed_before(generator, place) & {op for op in cone if op.op_def.is_variable}:
            continue
        kept = _given_before(generator, origin, cone, place)
        name = f"nonfinite{number}"
        target = plan.fetches.tensors[number]
        generator.globals["isfinite"] = _is_finite if generator.structured else math.isfinite
        generator.globals[name] = _noticed(plan, target, list(kept))
        feeds = _tuple(generator.parameters)
        text = f"isfinite({value.text}) or {name}({feeds}, {_tuple(list(kept.values()))})"
        generator.insert(place, Line(1, text, None, (), (value.text, *kept.values())))


def _given_before(
    generator: Generator,
    origin: Mapping[Operation, Operation],
    cone: Iterable[Operation],
    place: int,
) -> dict[Tensor, str]:
    """The user's tensors that a second computation would not give again -> their names in the code.

    What is made only from line ``place`` on, as by checks that the fetched value waits for, is not among them.
    """
    later = {name for line in generator.lines[place:] for name in line.sets}
    kept: dict[Tensor, str] = {}
    for op in cone:
        mine = origin.get(op, op)
        if not _is_given(op) or mine.type != op.type:
            continue
        for output, known in zip(op.outputs, mine.outputs, strict=True):
            made = generator.values.get(output)
            if made is not None and not made.is_ref and made.text not in later:
                kept[known] = made.text
    return kept


def _after_computing(lines: Sequence[Line], place: int) -> int:
    """The first line from ``place`` on that does more than compute: until there, all that a check asks for stays as it
    is, and lists of calls (`call_lists`) are not cut in two."""
    while place < len(lines) - 1:
        line = lines[place]
        if line.op is None or line.indent > 1 or not line.sets or _BLOCKS.match(line.text):
            break
        if not (can_merge(line.op) or line.op.op_def.is_alias):
            break
        place += 1
    return place


def without_checks(source: str) -> str:
    """The code of a plan without the lines of `add_checks`, which compute nothing that is asked for."""
    lines = source.splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith("isfinite("))


def _tuple(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _is_finite(value: Any) -> bool:
    return value is DEAD or value is None or math.isfinite(value)


def _changed_before(generator: Generator, place: int) -> set[Operation]:
    """The variables that a line before ``place`` may change."""
    return {
        variable_behind(t.op)
        for line in generator.lines[:place]
        if line.op is not None and not line.op.op_def.is_alias
        for t in line.op.inputs
        if t.dtype.is_ref
    }


def _is_given(op: Operation) -> bool:
    """True for a node that would return other values if called again."""
    traits = op.op_def
    if traits.is_variable or traits.is_handle or traits.control_flow or traits.is_random:
        return False
    if any(t.dtype.is_ref for t in (*op.inputs, *op.outputs)):
        return False
    return bool(op.outputs and (traits.stateful or traits.has_side_effect or traits.blocks))


def _noticed(
    plan: Plan, target: Tensor, kept: list[Tensor]
) -> Callable[[Sequence[Any], Sequence[Any]], None]:
    def nonfinite(feeds: Sequence[Any], given: Sequence[Any]) -> None:
        if plan.told_of_nan:
            return
        plan.told_of_nan = True
        origin = None
        try:
            known = dict(zip(kept, given, strict=True))
            origin = _find(plan, target, feeds, known, again=True)
            text = str(origin) if origin is not None else "computed once more, it is finite"
        except _Refused as refusal:
            text = f"where it comes from cannot be told: {refusal}"
        except Exception as error:  # the user's own run did not fail, so it continues
            text = f"where it comes from cannot be told: {type(error).__name__}: {error}"
        warning = NonFiniteWarning(f"{target.name!r} is NaN or infinite: {text}")
        warning.origin = origin
        warnings.warn(warning, stacklevel=level_of_user())

    return nonfinite


def level_of_user() -> int:
    """The stack level of the user's line, seen from the caller of this function."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _OURS.match(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def find(plan: Plan, arguments: Sequence[Any]) -> NonFiniteOrigin | None:
    """The first node of a run with these converted feeds that makes a NaN, or else an infinity.

    The fetches are computed and checked; variables and the random numbers of later runs stay as they are.
    ``None`` where all is finite. Raises `UnimplementedError` where a fetch depends on something that
    cannot be computed without changing state: an assignment, a queue.
    """
    found = None
    for target in plan.fetches.tensors:
        try:
            origin = _find(plan, target, arguments, {}, again=False)
        except _Refused as refusal:
            raise UnimplementedError(
                None, target.op, f"find_nan of {target.name!r}: {refusal}"
            ) from None
        if origin is not None and (
            found is None or (found.what, origin.what) == ("infinity", "NaN")
        ):
            found = origin
    return found


def _find(
    plan: Plan, target: Tensor, feeds: Sequence[Any], given: dict[Tensor, Any], again: bool
) -> NonFiniteOrigin | None:
    """Computes ``target`` and checks values; ``again``: with the random numbers of the last run."""
    fed = [*plan.feeds, *given]
    ops = [op for op in needed_operations([target], [], fed) if _computes(op)]
    _refuse(ops, set(fed), again)
    watch = _Watch(ops)
    for tensor, value in zip(fed, [*feeds, *given.values()], strict=True):
        watch.note(tensor, value)
    for op in ops:
        if op.op_def.is_variable:
            watch.note(op.outputs[0], plan.bind_variable(op).array)
    generated = Generator(
        ops, [target], fed, _binder(plan, again), plan.bind_variable, trace=True
    ).generate()
    try:
        with Computing():
            generated.function(watch.hook, *feeds, *given.values())
    except _Found:
        pass
    return watch.origin(set(plan.feeds))


def _computes(op: Operation) -> bool:
    """False for nodes that only raise or print."""
    return bool(op.outputs) or not op.op_def.has_side_effect


def _refuse(ops: Iterable[Operation], fed: set[Tensor], again: bool) -> None:
    where = positions(list(ops), fed)
    for op in ops:
        if op.outputs and all(t in fed for t in op.outputs):
            continue
        changes = not op.op_def.is_alias and any(t.dtype.is_ref for t in op.inputs)
        traits = op.op_def
        if changes or traits.blocks or (_is_given(op) and not traits.is_debug_identity):
            raise _Refused(
                f"it hangs on {op.type} {op.name!r}, which cannot run once more without a change of "
                f"state.\n  built at {op.built_at}"
            )
        if again and op.op_def.is_random and where.get(op, OUTSIDE).loops:
            raise _Refused(
                f"it hangs on {op.type} {op.name!r}, which draws in a loop.\n  built at {op.built_at}"
            )


def _binder(plan: Plan, again: bool) -> Callable[..., Any]:
    """As `Plan.bind_kernel`, but random ops draw from copies of their streams."""

    def bind_kernel(op: Operation, where: str = "cpu") -> Callable[..., Any]:
        if not op.op_def.is_random:
            return plan.bind_kernel(op, where)
        session = plan.session
        found = get_kernel(op.type, "cpu", op.op_def.family)
        assert found is not None
        state: dict[str, Any] = {}
        context = KernelContext(
            np, op.name, op.attrs, session.resources, session.cancellation, state, session, "cpu"
        )
        kernel = bind(found, context, op.attrs)
        stream: Stream | None = plan.op_state(op.name).get("stream")
        if stream is None:
            return kernel
        state["stream"] = stream.copy()
        if not again:
            return kernel

        def draw(*arguments: object) -> Any:
            before = state["stream"] = stream.copy()
            kernel(*arguments)
            drawn = before.blocks - stream.blocks
            state["stream"] = stream.copy(-drawn)
            return kernel(*arguments)

        return draw

    return bind_kernel


class _Watch:
    """Checks each value as it is computed, until a NaN is found."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        self._ops = ops
        self._summaries: dict[Tensor, ValueSummary] = {}
        self._inputs: dict[Operation, list[ValueSummary]] = {}
        self._first: dict[str, Tensor] = {}  # "NaN" or "infinity" -> where it appeared first

    def note(self, tensor: Tensor, value: Any) -> None:
        summary = summarize(tensor.name, value)
        if summary is not None:
            self._summaries[tensor] = summary

    def hook(self, number: int, outputs: Sequence[Any]) -> None:
        op = self._ops[number]
        for tensor, value in zip(op.outputs, outputs, strict=True):
            summary = summarize(tensor.name, value)
            if summary is None:
                continue
            self._summaries[tensor] = summary
            if summary.is_finite:
                continue
            what = "NaN" if summary.num_nan else "infinity"
            if what not in self._first:
                self._first[what] = tensor
                self._inputs[op] = self._inputs_of(op)
            if what == "NaN":
                raise _Found

    def _inputs_of(self, op: Operation) -> list[ValueSummary]:
        return [self._summaries[t] for t in op.inputs if t in self._summaries]

    def origin(self, fed: set[Tensor]) -> NonFiniteOrigin | None:
        """The origin of the first NaN, or else of the first infinity."""
        for what in ("NaN", "infinity"):
            if what in self._first:
                return self._origin(self._first[what], what, fed)
        for tensor, summary in self._summaries.items():  # fetched directly
            if not summary.is_finite:
                return self._origin(tensor, "NaN" if summary.num_nan else "infinity", fed)
        return None

    def _origin(self, tensor: Tensor, what: str, fed: set[Tensor]) -> NonFiniteOrigin:
        def bad(summary: ValueSummary) -> int:
            return summary.num_nan if what == "NaN" else summary.num_inf

        while tensor not in fed:
            sources = [t for t in tensor.op.inputs if t in self._summaries]
            worse = [t for t in sources if bad(self._summaries[t])]
            if not worse:
                break
            tensor = worse[0]
        op = tensor.op
        inputs = [] if tensor in fed else self._inputs.get(op) or self._inputs_of(op)
        cause = None
        if what == "NaN" and tensor not in fed:
            infinite = [t for t in op.inputs if t in self._summaries and self._summaries[t].num_inf]
            cause = self._origin(infinite[0], "infinity", fed) if infinite else None
        return NonFiniteOrigin(
            tensor.op.name,
            op.type,
            self._kind(tensor, fed),
            what,
            self._summaries[tensor],
            inputs,
            op.built_at,
            cause,
        )

    def _kind(self, tensor: Tensor, fed: set[Tensor]) -> str:
        if tensor in fed:
            return "fed"
        if tensor.op.op_def.is_variable:
            return "variable"
        if tensor.op.type == "Const":
            return "constant"
        return "given" if _is_given(tensor.op) else "made"
