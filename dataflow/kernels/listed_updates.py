"""Updates of small variables as one call list: all of an optimizer's step in one call of machine code.

What a step of a small network's optimizer costs is Python's way to each variable: looking at its array and at
those of its slots, whether anybody else refers to them, and calling the loop. Here machine code looks at all arrays, and
makes all calls. Where one has another layout, or somebody refers to it, nothing changes, and the caller goes its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import At, CallList, CallWriter, Number
from dataflow.kernels.jit.call_list_code import is_available
from dataflow.kernels.jit.rule_tracer import trace_call
from dataflow.kernels.row_updates import Rule

#: Updates with more numbers in all are shared among threads.
_MOST_ELEMENTS = 1 << 16
#: After so many runs a list is written, and again so many after the last was given up: when it has refused so often in
#: a row. Where arrays are shared in each run, none is of use.
_RUNS_BEFORE, _MOST_REFUSALS, _MOST_LISTS = 24, 4, 8

#: Scalars that never change.
_CONSTANT = (np.generic, float, int, type(None))


class ListedUpdates:
    """The updates of one node, by a list from some runs on."""

    def __init__(self) -> None:
        self._waits, self._left = _RUNS_BEFORE, _MOST_LISTS
        self._list: CallList | None = None
        self._refusals = 0
        self._refs: Sequence[Any] = ()
        self._acquires: list[Callable[[], Any]] = []
        self._releases: list[Callable[[], Any]] = []
        #: The rule with its flags, and the numbers among its scalars.
        self._rule: Any = None
        self._numbers: Array = np.empty(0)
        #: The scalars whose numbers stand there, if they are constants.
        self._constants: Sequence[Any] | None = None
        #: Gradients that may be NumPy's scalars.
        self._single: list[int] = []

    def run(
        self, refs: Sequence[Any], grads: Sequence[Any], rule: Rule, scalars: Sequence[Any]
    ) -> bool:
        """Updates them all, ``len(refs) / len(grads)`` variables with each gradient, or says that it has changed
        nothing."""
        if self._waits:
            self._waits -= 1
            if not self._waits and self._left:
                self._left -= 1
                self._write(refs, grads, rule, scalars)
            return False
        written = self._list
        if written is None:
            return False
        if refs == self._refs and self._run(written, grads, rule, scalars):
            self._refusals = 0
            return True
        self._refusals += 1
        if self._refusals >= _MOST_REFUSALS:
            self._list, self._refusals, self._waits = None, 0, _RUNS_BEFORE
        return False

    def _takes(self, rule: Rule, scalars: Sequence[Any]) -> bool:
        """Whether the list is for this rule with such scalars; it has their numbers then."""
        constants = self._constants
        if constants is not None and rule is self._rule[0] and all(map(is_, scalars, constants)):
            return True
        kinds, numbers = _split(rule, scalars)
        if kinds != self._rule:
            return False
        self._numbers[:] = numbers
        self._constants = scalars if all(isinstance(x, _CONSTANT) for x in scalars) else None
        return True

    def _run(
        self, written: CallList, grads: Sequence[Any], rule: Rule, scalars: Sequence[Any]
    ) -> bool:
        if self._single:
            grads = list(grads)
            for i in self._single:
                grads[i] = np.asarray(grads[i])
        for acquire in self._acquires:
            acquire()
        try:
            if not self._takes(rule, scalars):
                return False
            ids = [id(ref.array) for ref in self._refs]
            return written.run_by_id([*ids, *map(id, grads), id(self._numbers)])
        finally:
            for release in self._releases:
                release()

    def _write(self, refs: Sequence[Any], grads: Sequence[Any], rule: Rule, scalars: Any) -> None:
        if sum(np.size(x) for x in grads) >= _MOST_ELEMENTS or not is_available():
            return
        arrays = [ref.array for ref in refs]
        if arrays[0].dtype.char not in "fd":
            return
        each = len(refs) // len(grads)
        traced, numbers = trace_call(rule, arrays[:each], tuple(scalars), by_rows=False)
        if traced is None or not traced.on_cpu:
            return
        function = traced.loop.get()
        if function is None:  # it is being compiled
            self._waits = _RUNS_BEFORE
            self._left += 1
            return
        layouts = [(np.shape(x), np.result_type(x)) for x in (*arrays, *grads)]
        if any(dtype != arrays[0].dtype for _, dtype in layouts):
            return
        # Others than those of this run, two of which may be the same.
        examples = [np.empty(*layout) for layout in layouts]
        values = np.array(numbers, np.float64)
        w = CallWriter([*examples, values], changed=examples[: len(refs)])
        for i in range(len(grads)):
            members = examples[i * each : (i + 1) * each]
            grad = examples[len(refs) + i]
            factors = [Number(values[k : k + 1]) for k in range(len(numbers))]
            to = [At(members[k]) for k in traced.changed]
            w.call(function.address, grad.size, *map(At, (*members, grad)), *factors, *to)
        self._constants = None
        self._list, self._numbers, self._refusals = w.list(), values, 0
        self._refs, self._rule = refs, _split(rule, scalars)[0]
        self._single = [i for i, x in enumerate(grads) if not np.ndim(x)]
        ordered = [ref.lock for ref in sorted(refs, key=id)]
        self._acquires = [lock.acquire for lock in ordered]
        self._releases = [lock.release for lock in ordered]


def _split(rule: Rule, scalars: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """What the rule's machine code depends on, and the numbers."""
    flags = tuple(x if x is None or type(x) is bool else ... for x in scalars)
    return (rule, *flags), [x for x in scalars if x is not None and type(x) is not bool]
