"""Lines of a plan as lists of calls: what many small kernels do, made by one call of machine code.

A step of a small network is hundreds of kernels of a few microseconds, and nearly all of that is Python's way
to them. After some runs the plan is *recorded*: its function runs with a note after each line whose kernel
can be written down (`kernels.jit.call_writers`), which says which layouts its arrays have. Each such line is tried:
its calls must give the same bits as the kernel, for random numbers, for special ones, and for those of
this run. Then neighboring lines become one `CallList`:

    t14, t15 = list7(t9, x, v12.array) or plain7(t9, x); del t9  # 5 nodes

where the second function is those lines as they were, for the case that an array has another layout.
Values that nobody keeps stay in buffers of the list's own; what others keep gets a new array in each run.

What is written down must depend on the arrays' layouts alone: recorded are runs whose feeds have the same ones, and
lines whose results have others only if their inputs, or constants, do. What is computed from shapes alone is as good
as a constant: a list that takes such a value compares it with the one that it was written for. Recording is done in steps between runs, so that no run stands still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.capabilities import MACHINE_CODE
from dataflow.dtypes import variant
from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list_code import is_available
from dataflow.kernels.malloc_tuning import give_back_after_compiling
from dataflow.rewrites.gradual import Gradual, Steps
from dataflow.runtime.array_layouts import Layout
from dataflow.runtime.call_lists import PlanLists, source_of
from dataflow.runtime.codegen import GeneratedPlan
from dataflow.runtime.concurrency import microseconds
from dataflow.runtime.recorded_line import (
    Recorded,
    Trial,
    is_constant,
    kernel_of,
    lines_of_shapes,
    parts_among,
    same_numbers,
    views_among,
)

if TYPE_CHECKING:
    from dataflow.runtime.codegen import Line

#: The fewest runs as usual before a plan is recorded, by when loops that are stored are loaded (lines that wait for others
#: to be compiled are tried again).
RUNS_BEFORE_RECORDING = 10
#: What recording takes for each kind of line, and for each line: a plan is recorded when its lists would have saved that.
_MICROSECONDS_FOR_A_KIND, _MICROSECONDS_FOR_A_LINE = 1000.0, 50.0
#: How many lines are tried in one run: at least, and this part of them.
_LEAST_PER_RUN, _RUNS_OF_RECORDING = 16, 5
#: How many runs go by before lines are tried again that wait for a loop.
_RUNS_TO_WAIT = 8
#: After so many runs lines that wait for a loop to be compiled are left as they are.
_MOST_RUNS = 60
#: How many runs in a row may be fed other sizes, as the last batch of an epoch is.
_MOST_MISSES = 3
#: What a list saves for each line, and the least part of a plan's time for which it is worth the while.
_SAVED_MICROSECONDS, _LEAST_PART = 3.0, 0.04
#: The fewest lines that are recorded.
_FEWEST_LINES = 3
#: Takes a plan's lines, and the function that runs them from now on.
Use = Callable[[GeneratedPlan, Callable[..., Any]], None]
#: The most elements of a value that depends on shapes alone and is written down, as shapes are.
_MOST_NUMBERS = 32


def begin(generated: GeneratedPlan, use: Use) -> Callable[..., Any] | None:
    """The function that runs a plan and records it after some runs; ``None`` where it cannot be recorded.

    It calls ``use`` when there is another one to run the plan by, and at last with the plan's new lines.
    """
    if not MACHINE_CODE or not generated.source.startswith("def run("):
        return None
    if "future(" in generated.source:  # lines are shared with other threads
        return None
    runs, runs_before = 0, max(RUNS_BEFORE_RECORDING, _runs_that_pay(generated.lines))

    def run(*arguments: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs >= runs_before:
            recorder = _recorder_of(generated, use)
            use(generated, generated.function if recorder is None else recorder.run)
        return generated.function(*arguments)

    return run


def _runs_that_pay(lines: Iterable[Line]) -> int:
    """After how many runs lists would have saved what recording these lines takes, if all can be recorded."""
    ops = [line.op for line in lines if line.op is not None]
    kinds = {(op.type, tuple(str(x.shape) for x in op.outputs)) for op in ops}
    cost = _MICROSECONDS_FOR_A_KIND * len(kinds) + _MICROSECONDS_FOR_A_LINE * len(ops)
    return int(cost / (_SAVED_MICROSECONDS * max(1, len(ops))))


def _recorder_of(generated: GeneratedPlan, use: Use) -> Recorder | None:
    """The recorder of a plan; ``None`` where there is nothing to gain."""
    of_shapes = lines_of_shapes(generated.lines)
    candidates = _candidates(generated.lines, of_shapes, generated.function.__globals__)
    if len(candidates) < _FEWEST_LINES or source_of(generated)[1] == []:
        return None
    others = sum(microseconds(x.op, True) or 0.0 for x in generated.lines if x.op is not None)
    if _saved(generated.lines, candidates) < _LEAST_PART * others:
        return None
    return Recorder(generated, candidates, of_shapes, use)


def microseconds_saved(lines: Sequence[Line], scope: dict[str, Any]) -> float:
    """About how much sooner these lines of a plan are done as lists of calls; 0 where there are no lists."""
    if not MACHINE_CODE:
        return 0.0
    return _saved(lines, _candidates(lines, lines_of_shapes(lines), scope))


def _saved(lines: Sequence[Line], candidates: Iterable[int]) -> float:
    return _SAVED_MICROSECONDS * sum("(" in lines[i].text for i in candidates)


def _candidates(
    lines: Sequence[Line], of_shapes: Container[int], scope: dict[str, Any]
) -> dict[int, list[str]]:
    """The lines that may become calls, with the expressions of their inputs."""
    from dataflow.kernels.jit.call_writers import can_be_written

    candidates = {}
    for i, line in enumerate(lines):
        op = line.op
        if op is None or not line.operands or "_" in line.sets or "out=" in line.text:
            continue
        if any(x is variant for x in op.attrs.values()):  # lists of tensors, as if they were arrays
            continue
        if i not in of_shapes and (
            op.op_def.stateful
            or not line.sets
            or not can_be_written(op.type, kernel_of(line, scope))
        ):
            continue
        candidates[i] = [
            f"{text}.matrix" if tensor.dtype is variant else text  # a packed one
            for text, tensor in zip(line.operands, op.inputs, strict=True)
        ]
    return candidates


class Recorder:
    """Records the lines of one plan, and writes the plan with lists when all have been tried."""

    def __init__(
        self,
        generated: GeneratedPlan,
        candidates: dict[int, list[str]],
        of_shapes: Container[int],
        use: Use,
    ) -> None:
        self._generated, self._use = generated, use
        self._lines = generated.lines
        self._operands, self._of_shapes = candidates, of_shapes
        self._scope = generated.function.__globals__
        self._recorded: dict[int, Recorded | None] = {}
        self._known: dict[Any, Recorded | None] = {}
        #: The values that depend on shapes alone, by local.
        self._numbers: dict[str, Array] = {}
        self._per_run = max(_LEAST_PER_RUN, len(candidates) // _RUNS_OF_RECORDING)
        self._runs, self._left, self._waits = 0, 0, 0
        self._compiles = False
        #: The layouts of the feeds of the runs that are recorded, and how many runs in a row had others.
        self._feeds: Any = None
        self._misses = 0
        self._noting: Callable[..., Any] | None = None
        self._writing: Gradual | None = None
        self._lock = threading.Lock()
        #: Lines that could not be tried: a kernel's writer has a mistake.
        self.failures: list[tuple[int, Exception]] = []

    def run(self, *arguments: Any) -> Any:
        """Runs the plan and tries some of its lines, or writes some of its lists."""
        if not self._lock.acquire(blocking=False):
            return self._generated.function(*arguments)  # another thread's run is recorded
        try:
            if self._writing is not None:
                self._writing.go_on()
            elif self._waits:
                self._waits -= 1
            elif self._is_like_the_others(arguments):
                return self._run_with_notes(*arguments)
        finally:
            self._lock.release()
        return self._generated.function(*arguments)

    def _is_like_the_others(self, arguments: Sequence[Any]) -> bool:
        """Whether a run is to be recorded; after some of other sizes, recording begins again with those."""
        feeds = [Layout.of(x) or np.shape(x) for x in arguments]
        if feeds == self._feeds:
            self._misses = 0
            return True
        self._misses += 1
        if self._feeds is not None and self._misses <= _MOST_MISSES:
            return False
        self._feeds, self._misses = feeds, 0
        self._recorded.clear()
        self._numbers.clear()
        return True

    def _run_with_notes(self, *arguments: Any) -> Any:
        if self._noting is None:
            if not is_available():
                self._use(self._generated, self._generated.function)
                return self._generated.function(*arguments)
            self._noting = self._with_notes()
        before = len(self._recorded)
        self._runs += 1
        self._left, self._compiles = self._per_run, False
        results = self._noting(*arguments)
        if len(self._recorded) > before:
            return results
        if self._compiles and self._runs < _MOST_RUNS:
            self._waits = _RUNS_TO_WAIT
        else:
            self._noting = None
            self._writing = Gradual(self._write(), self._per_run)
        return results

    # ---- recording

    def _with_notes(self) -> Callable[..., Any]:
        """The plan's function with a note after each candidate, in the same lines."""
        header, text = source_of(self._generated)
        lines = []
        for i, line in enumerate(self._lines):
            operands = self._operands.get(i)
            if operands is None:
                lines.append(text[i])
                continue
            note = f"; note({i}, {', '.join([*operands, *line.sets])})"
            start = "    " * line.indent + line.text
            lines.append(start + note + text[i][len(start) :])
        scope = {**self._scope, "note": self._note}
        source = "\n".join([*header, *lines]) + "\n"
        exec(compile(source, self._generated.filename, "exec"), scope)
        return scope.pop("run")  # type: ignore[no-any-return]

    def _note(self, i: int, *values: Any) -> None:
        """Takes the inputs and the results of line ``i``."""
        if self._left <= 0 or i in self._recorded:
            return
        from dataflow.kernels.jit.call_writers import NotCompiled

        self._left -= 1
        try:
            count = len(self._operands[i])
            self._recorded[i] = self._try(i, values[:count], values[count:])
        except NotCompiled:
            self._compiles = True
        except Exception as e:  # the run is not to fail for what it does not need
            self._recorded[i] = None
            self.failures.append((i, e))

    def _try(self, i: int, inputs: Sequence[Any], results: Sequence[Any]) -> Recorded | None:
        line, op = self._lines[i], self._lines[i].op
        assert op is not None
        operands = self._operands[i]
        inputs = [getattr(x, "matrix", x) for x in inputs]
        numbers = self._numbers_among(operands, inputs)
        constants = frozenset(k for k, text in enumerate(operands) if is_constant(text)) | set(
            numbers
        )
        all_known = len(constants) == len(inputs)
        is_of_shapes = i in self._of_shapes and (op.op_def.shape_only or all_known)
        given = tuple(Layout.of(x, k in constants) for k, x in enumerate(inputs))
        if op.op_def.only_checks:
            return Recorded(given, (), numbers=numbers, is_check=True) if all_known else None
        made = tuple(Layout.of(x, is_of_shapes) for x in results)
        if None in made or any(x is None and k not in constants for k, x in enumerate(given)):
            return self._view_of_large(i, inputs, results, constants, numbers)
        found: tuple[Layout, ...] = made  # type: ignore[assignment]
        if is_of_shapes and all(x.size <= _MOST_NUMBERS for x in results):
            values = tuple(x if isinstance(x, np.generic) else np.array(x) for x in results)
            self._numbers.update(zip(line.sets, map(np.asarray, values), strict=True))
            return Recorded(given, found, constants=values, numbers=numbers)
        overwrites = any(name in self._generated.reused for name in line.sets)
        views = None if overwrites else views_among(inputs, results, constants)
        if views is not None:
            return Recorded(given, found, views=views, numbers=numbers)
        parts = parts_among(results, found)
        if parts is None:
            return None
        known = tuple((k, np.asarray(inputs[k]).tobytes()) for k in sorted(constants))
        attrs = [(k, v) for k, v in sorted(op.attrs.items()) if not k.startswith("_")]
        key = (op.type, repr(attrs), given, found, known, tuple(numbers))
        if key not in self._known:
            trial = Trial(line, operands, constants, given, found, parts, self._scope, overwrites)
            made_by = trial.find(inputs, list(results))
            self._known[key] = made_by and made_by._replace(numbers=numbers)
        return self._known[key]

    def _view_of_large(
        self,
        i: int,
        inputs: Sequence[Any],
        results: Sequence[Any],
        constants: frozenset[int],
        numbers: dict[int, Array],
    ) -> Recorded | None:
        """A line that only says where its results lie in an array of any size, as the slice of each step of an unrolled
        loop: without it, lists would end there."""
        if any(name in self._generated.reused for name in self._lines[i].sets):
            return None
        given = tuple(Layout.of(x, k in constants, any_size=True) for k, x in enumerate(inputs))
        made = [Layout.of(x, any_size=True) for x in results]
        views = views_among(inputs, results, constants)
        found = tuple(x for x in made if x is not None)
        if views is None or len(found) < len(made):
            return None
        if any(x is None and k not in constants for k, x in enumerate(given)):
            return None
        return Recorded(given, found, views=views, numbers=numbers)

    def _numbers_among(self, operands: Sequence[str], inputs: Sequence[Any]) -> dict[int, Array]:
        """The inputs that depend on shapes alone, with their values."""
        found = {}
        for k, text in enumerate(operands):
            number = self._numbers.get(text)
            if number is not None and same_numbers(number, np.asarray(inputs[k])):
                found[k] = number
        return found

    # ---- lists

    def _write(self) -> Steps[None]:
        """Writes the lists, in steps; then the plan runs by them."""
        written = yield from PlanLists(self._generated, self._operands, self._recorded).write()
        written = written or self._generated
        self._use(written, written.function)
        give_back_after_compiling(len(self._lines))
