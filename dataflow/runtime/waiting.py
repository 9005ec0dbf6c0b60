"""Continues a step while one of its ops waits.

A plan runs its lines in one order, in one thread. An op that waits (a dequeue from an empty queue, a
slow Python function) must not hold up lines that do not depend on it: one of them may provide what it
waits for, or may fail. So when an op still waits after `GRACE_SECONDS`, its thread keeps waiting, and
another thread takes over the step: `Rest` knows the remaining lines and the values computed so far,
and runs each line as soon as what it needs is done. Only one thread at a time runs lines, so nothing
runs in parallel that did not before; waiting threads do not count. When a step never waits that long,
which is nearly always, none of this is created.

A loop or a branch that contains an op that waits is one line for this (see `blocks`), and goes on in the
thread that waited. Plans with locks run in a single thread.

Where there are no threads, `cooperative_step` does the same in one.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from dataflow.capabilities import THREADS
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.subnormals import Computing
from dataflow.kernels.would_block import WouldBlock
from dataflow.runtime import blocks
from dataflow.runtime.cancellation import Cancellation, Waiter, here, wait_for
from dataflow.runtime.codegen import is_computed

if TYPE_CHECKING:
    from dataflow.runtime.codegen import GeneratedPlan, Generator, Line
    from dataflow.runtime.concurrency import ParallelRegion


class HandedOver(BaseException):
    """Leaves the function of a plan whose step continues in ``rest``."""

    def __init__(self, rest: Rest, value: Any, error: BaseException | None) -> None:
        super().__init__()
        self.rest, self.value, self.error = rest, value, error


class Overlap:
    """The lines of a plan with ops that may wait, as `Rest` runs them."""

    def __init__(
        self,
        cancellation: Callable[[], Cancellation],
        scopes: Callable[[], Any],
        resume: Callable[[Any], Any],
    ) -> None:
        self._cancellation = cancellation
        #: Goes on with a run that was left in the middle (`cooperative.Suspended`).
        self.resume = resume
        #: The contexts that a thread needs to run lines.
        self.scopes = scopes
        #: The lines before rewriting for in-place computation, as later lines may run before them.
        self.lines: list[Line] = []
        self.regions: Sequence[ParallelRegion] = ()
        self.generated: GeneratedPlan
        self.plain_globals: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._needs: list[frozenset[int]] | None = None
        self._code: list[CodeType | None] = []
        self._fed: frozenset[Tensor] = frozenset()
        #: The lines of the functions of loops and branches, and the names of those that may wait.
        self.functions: list[list[Line]] = []
        self._waiting_blocks: set[str] = set()
        #: The nodes of such a function, by the one that stands for it.
        self._members: dict[Operation, tuple[Operation, ...]] = {}

    def prepare(self, generator: Generator) -> bool:
        """Wraps the kernels that may have to hand over; returns False if there are none."""
        if any(op.op_def.takes_lock for op in generator.ops):
            return False
        if generator.structured and not THREADS:
            return False
        self._fed = frozenset(generator.feeds)
        found = blocks.find(generator.lines) if generator.structured else []
        block_of = {op: block for block in found for op in block.ops}
        behind: dict[Operation, int] = {}
        waiting: list[Operation] = []
        for op in generator.ops:
            bits = 0
            for source in self._sources(op):
                bits |= behind.get(source, 0)
            if op.op_def.blocks:
                bits |= 1 << len(waiting)
                waiting.append(op)
            behind[op] = bits
        everything = (1 << len(waiting)) - 1
        free = [
            behind[line.op]
            for line in generator.lines
            if line.op is not None and line.op not in block_of
        ]
        for block in found:
            free.append(functools.reduce(operator.or_, (behind[op] for op in block.ops), 0))
        overlapping = False
        for i, op in enumerate(waiting):
            name = f"k{generator.numbers[op]}"
            if not THREADS:
                if name in generator.globals and not op.op_def.calls_python:
                    self.plain_globals[name] = generator.globals[name]
                    generator.globals[name] = self._leaving(generator.globals[name])
                    overlapping = True
                continue
            if name not in generator.globals or all(bits >> i & 1 for bits in free):
                continue
            if op in block_of:
                if not op.op_def.calls_python:
                    self._waiting_blocks.add(block_of[op].name)
                    overlapping = True
                continue
            if op.op_def.calls_python:
                others = everything & ~behind[op]
                others &= ~sum(1 << j for j, o in enumerate(waiting) if behind[o] >> i & 1)
                if not others:
                    continue
                generator.globals[name] = self._in_thread(generator.globals[name], op)
            self.plain_globals[name] = generator.globals[name]
            generator.globals[name] = self._interruptible(generator.globals[name])
            overlapping = True
        if overlapping:
            if found:
                self.functions, self._members = blocks.fold(generator, found)
            self.lines = list(generator.lines)
        return overlapping

    def wrap_blocks(self, names: dict[str, Any]) -> None:
        """As `prepare` does with kernels: the functions of loops and branches in which an op may wait."""
        for name in self._waiting_blocks:
            self.plain_globals[name] = names[name]
            names[name] = self._interruptible(names[name])

    def _sources(self, op: Operation) -> Iterator[Operation]:
        for tensor in op.inputs:
            if tensor not in self._fed and tensor.op.op_def.control_flow != "next_iteration":
                yield tensor.op
        yield from op.control_inputs

    def _interruptible(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            outer = here.waiter
            waiter = here.waiter = _First(self, sys._getframe(1))
            value, error = None, None
            try:
                value = kernel(*arguments)
            except BaseException as e:
                if waiter.rest is None or not isinstance(e, Exception):
                    raise
                error = e
            finally:
                here.waiter = outer
            if waiter.rest is not None:
                raise HandedOver(waiter.rest, value, error)
            return value

        return call

    def _leaving(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, which leaves the function of the plan where it would have to wait."""
        from dataflow.runtime.cooperative_step import CooperativeRest

        def call(*arguments: object) -> Any:
            outer = here.may_leave, here.kept
            kept: dict[Any, Any] = {}
            here.may_leave, here.kept = True, kept
            try:
                return kernel(*arguments)
            except WouldBlock as blocked:
                rest = CooperativeRest(self, sys._getframe(1), blocked, kept)
            finally:
                here.may_leave, here.kept = outer
            raise HandedOver(rest, None, None)

        return call

    def _in_thread(self, kernel: Callable[..., Any], op: Operation) -> Callable[..., Any]:
        """The kernel, called in a thread of its own; waiting for it is like waiting for a queue."""

        def call(*arguments: object) -> Any:
            condition = threading.Condition()
            outcome: list[tuple[Any, BaseException | None]] = []

            def work() -> None:
                value, error = None, None
                try:
                    with Computing():
                        value = kernel(*arguments)
                except BaseException as e:
                    error = e
                with condition:
                    outcome.append((value, error))
                    condition.notify_all()

            threading.Thread(target=work, name=f"dataflow-{op.type}", daemon=True).start()
            with condition:
                wait_for(condition, lambda: bool(outcome), self._cancellation(), op.name)
            value, error = outcome[0]
            if error is not None:
                raise error
            return value

        return call

    def needs(self) -> list[frozenset[int]]:
        """For each line, the lines that must be done before it, because of values and control edges."""
        with self._lock:
            if self._needs is None:
                self._needs = self._find_needs()
                self._code = [None] * len(self.lines)
        return self._needs

    def _find_needs(self) -> list[frozenset[int]]:
        lines_of: dict[Operation, list[int]] = {}
        for i, line in enumerate(self.lines):
            for op in self._ops_of(line):
                lines_of.setdefault(op, []).append(i)
        before: dict[Operation, frozenset[int]] = {}

        def ends(op: Operation) -> frozenset[int]:
            """The lines after which a node is done; those of its inputs if it has no line."""
            own = lines_of.get(op)
            return frozenset(own) if own else before.get(op, frozenset())

        for start in lines_of:
            stack = [start]
            while stack:
                op = stack[-1]
                missing = [s for s in self._sources(op) if s not in before]
                if op not in before and missing:
                    stack.extend(missing)
                    continue
                stack.pop()
                before.setdefault(op, frozenset().union(*map(ends, self._sources(op))))
        result = []
        sets: dict[str, list[int]] = {}  # more than one line for a variable of a loop
        reads: dict[str, list[int]] = {}
        for i, line in enumerate(self.lines):
            needs: set[int] = set()
            for op in self._ops_of(line):
                needs.update(before[op])
                needs.update(
                    j for j in lines_of[op] if j < i
                )  # the lines of one node keep their order
            for name in line.reads:
                needs.update(sets.get(name, ()))
                reads.setdefault(name, []).append(i)
            for name in line.sets:
                needs.update(sets.get(name, ()), reads.get(name, ()))
                sets.setdefault(name, []).append(i)
            needs.discard(i)
            result.append(frozenset(needs))
        return result

    def _ops_of(self, line: Line) -> tuple[Operation, ...]:
        """The nodes that a line computes."""
        return () if line.op is None else self._members.get(line.op, (line.op,))

    def code(self, index: int, text: str | None = None) -> CodeType:
        """The compiled line; tracebacks show it as that line of the plan's source."""
        found = self._code[index]
        if found is None or text is not None:
            line = self.lines[index]
            number = next((n for n, op in self.generated.line_ops.items() if op is line.op), 1)
            source = "\n" * (number - 1) + (line.text if text is None else text)
            found = compile(source, self.generated.filename, "exec")
            if text is None:
                self._code[index] = found
        return found


class _First(Waiter):
    """The op at which a step stops, while no other thread continues it."""

    __slots__ = ("_frame", "_overlap", "cancellation", "rest")

    def __init__(self, overlap: Overlap, frame: FrameType) -> None:
        self._overlap = overlap
        self._frame: FrameType | None = frame
        self.rest: Rest | None = None
        self.cancellation: Cancellation | None = None

    def go_on(self) -> None:
        if self.rest is None:
            assert self._frame is not None  # it goes when there is a rest
            self.rest = Rest(self._overlap, self._frame)
            self.cancellation = self.rest.cancellation
            self.rest.start_worker()
        self._frame = None


class _Later(Waiter):
    """The op of a line that a `Rest` runs."""

    __slots__ = ("cancellation", "handed_over", "rest")

    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        self.cancellation: Cancellation | None = rest.cancellation
        self.handed_over = False

    def go_on(self) -> None:
        if not self.handed_over:
            self.handed_over = True
            self.rest.let_another()


class Rest:
    """The lines of one step that are left while an op of it waits.

    ``changed`` guards all fields and is notified of each finished line. Invariant: at most one thread
    has the ``turn``, and only it runs lines; a thread whose op waits gives up the turn, and takes it
    again when the op is done.
    """

    def __init__(self, overlap: Overlap, frame: FrameType) -> None:
        self.overlap = overlap
        self.cancellation = Cancellation()
        self.changed = threading.Condition()
        self.turn = False
        self.running = 0
        self.error: BaseException | None = None
        self.deadline = here.deadline
        self.values: dict[str, Any] = dict(frame.f_locals)
        for region in overlap.regions:
            begun = self.values.pop(f"p{region.first}", None)
            if begun is not None:
                self.values.update(zip(region.gives, begun(), strict=True))
        op = overlap.generated.line_ops[frame.f_lineno]
        lines = overlap.lines
        self.first = next(i for i, line in enumerate(lines) if line.op is op)
        self.result = len(lines) - 1  # the line that returns
        self.done = set(range(self.first))
        self.left = list(range(self.first + 1, self.result))
        self.readers: dict[str, int] = {}
        for i in range(self.first, len(lines)):
            for name in lines[i].reads:
                self.readers[name] = self.readers.get(name, 0) + 1
        self.globals = overlap.generated.function.__globals__ | overlap.plain_globals
        self.needs = overlap.needs()

    def start_worker(self) -> None:
        """Starts another thread that runs the lines that are ready."""
        with self.changed:
            self.running += 1
        threading.Thread(target=self._work, name="dataflow-step", daemon=True).start()

    def let_another(self) -> None:
        """Called when the thread that has the turn starts to wait."""
        with self.changed:
            self.turn = False
            self.changed.notify_all()
        self.start_worker()

    def _take_turn(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.turn)
            self.turn = True

    def _give_turn(self) -> None:
        with self.changed:
            self.turn = False
            self.changed.notify_all()

    def _work(self) -> None:
        here.deadline = self.deadline
        with self.overlap.scopes():
            try:
                self._take_turn()
                self._run_ready_lines()
            finally:
                with self.changed:
                    self.turn = False
                    self.running -= 1
                    self.changed.notify_all()

    def _next(self) -> int | None:
        with self.changed:
            if self.error is not None:
                return None
            for position, i in enumerate(self.left):
                if self.needs[i] <= self.done:
                    del self.left[position]
                    return i
        return None

    def _run_ready_lines(self) -> None:
        """Runs lines until none is ready; the caller has the turn, before and after."""
        while (i := self._next()) is not None:
            waiter = here.waiter = _Later(self)
            try:
                exec(self.overlap.code(i), self.globals, self.values)
            except Exception as e:
                self.fail(e)
            finally:
                here.waiter = None
                if waiter.handed_over:
                    self._take_turn()
            self._finish(i)

    def _finish(self, i: int) -> None:
        with self.changed:
            self.done.add(i)
            for name in self.overlap.lines[i].reads:
                self._read(name)
            for name in self.overlap.lines[i].sets:
                if not self.readers.get(name):
                    self.values.pop(name, None)
            self.changed.notify_all()

    def _read(self, name: str) -> None:
        count = self.readers.get(name, 0) - 1
        self.readers[name] = count
        if count == 0 and is_computed(name):
            self.values.pop(name, None)

    def fail(self, error: BaseException) -> None:
        """Ends the step with this error, unless it already has one; waiting ops are cancelled."""
        with self.changed:
            if self.error is not None:
                return
            self.error = error
        self.cancellation.cancel()

    def finish(self, handed: HandedOver) -> Any:
        """Runs the rest in the step's own thread, whose op is done; returns the plan's results."""
        outer = here.waiter
        try:
            self._take_turn()
            line = self.overlap.lines[self.first]
            text = "raise error"  # by the line, so that its node is named
            if handed.error is None:
                text = line.text.partition(" = ")[0] + " = value" if line.sets else "pass"
            code = self.overlap.code(self.first, text)
            try:
                exec(code, {"value": handed.value, "error": handed.error}, self.values)
            except Exception as e:
                self.fail(e)
            self._finish(self.first)
            while True:
                self._run_ready_lines()
                self._give_turn()
                with self.changed:
                    self.changed.wait_for(lambda: not self.turn and self._is_settled())
                    if not self._has_ready_line():
                        break
                    self.turn = True
        except BaseException as e:  # the cell was interrupted
            self.fail(e)
            raise
        finally:
            here.waiter = outer
        return self._result()

    def _is_settled(self) -> bool:
        return self.running == 0 or self._has_ready_line()

    def _has_ready_line(self) -> bool:
        return self.error is None and any(self.needs[i] <= self.done for i in self.left)

    def _result(self) -> Any:
        if self.error is not None:
            self._raise(self.error)
        expression = self.overlap.lines[self.result].text.removeprefix("return ")
        return eval(expression, self.globals, self.values)

    @staticmethod
    def _raise(error: BaseException) -> NoReturn:
        raise error
