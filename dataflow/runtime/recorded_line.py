"""A line of a plan as calls of machine code: what was found, and how it is tried."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.compiler import address_of
from dataflow.rewrites.effects import can_merge
from dataflow.runtime.array_layouts import (
    Layout,
    array_at,
    contiguous_strides,
    random_array,
    same_bits,
)

if TYPE_CHECKING:
    from dataflow.kernels.jit.call_list import CallList
    from dataflow.runtime.codegen import Line

#: How many ways a writer may offer.
_MOST_VARIANTS = 4
#: How many numbers of results are compared at least, unless that is too much work: numbers of inputs, and each input
#: as so many.
_FEWEST_RESULTS, _MOST_WORK, _ONE_ARRAY = 24, 1 << 18, 1000
#: Matches the expression of a constant of a plan.
is_constant = re.compile(r"c\d+").fullmatch
_VARIABLE = re.compile(r"(v\d+)\.(?:array|read\(\))")


class Recorded(NamedTuple):
    """A line that can be part of a list.

    ``views`` are, for a line that computes nothing, (number of the input, offset, layout) of each
    result; ``constants`` its values, where they depend on shapes alone; otherwise ``variant`` is the way its kernel
    is written, and ``parts`` (number of another, offset) of each result that lies in another one. ``numbers`` are the
    values of inputs that depend on shapes alone, as where a slice ends: the rest holds for these. ``is_check`` says that
    the line checked those, found nothing wrong, and does nothing else.
    """

    inputs: tuple[Layout | None, ...]
    results: tuple[Layout, ...]
    variant: int = 0
    parts: dict[int, tuple[int, int]] = {}
    views: tuple[tuple[int, int], ...] = ()
    constants: tuple[Any, ...] = ()
    numbers: dict[int, Array] = {}
    is_check: bool = False

    @property
    def computes(self) -> bool:
        """Whether there is anything to do in a run."""
        return not (self.views or self.constants or self.is_check)


def same_numbers(a: Array, b: Array) -> bool:
    """Whether two small arrays, or scalars, are the same."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def parts_among(
    results: Sequence[Any], layouts: Sequence[Layout]
) -> dict[int, tuple[int, int]] | None:
    """For results that lie in other ones, (number of the other, offset); ``None`` where one lies elsewhere and
    is not contiguous."""
    found = {}
    whole = [x.strides == contiguous_strides(x.shape, x.dtype) for x in layouts]
    for i, result in enumerate(results):
        if whole[i]:
            continue
        for k, other in enumerate(results):
            if whole[k] and np.may_share_memory(other, result):
                found[i] = (k, address_of(result) - address_of(other))
                break
        else:
            return None
    return found


def views_among(
    inputs: Sequence[Any], results: Sequence[Any], constants: frozenset[int]
) -> tuple[tuple[int, int], ...] | None:
    """(Input, offset) of each result, where all of them lie in the memory of the one input that is no constant: with
    another, such as where a slice begins, they lie elsewhere in the next run."""
    others = [k for k in range(len(inputs)) if k not in constants]
    if len(others) != 1 or not isinstance(inputs[others[0]], np.ndarray):
        return None
    (k,) = others
    source = inputs[k]
    found = []
    for result in results:
        if not isinstance(result, np.ndarray) or not np.may_share_memory(source, result):
            return None
        found.append((k, address_of(result) - address_of(source)))
    return tuple(found)


class _Holder:
    """Stands for a variable in the text of a line."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def read(self) -> Array:
        return self.array


class Trial:
    """Finds the way in which one line's kernel is written down."""

    def __init__(
        self,
        line: Line,
        operands: Sequence[str],
        constants: frozenset[int],
        given: tuple[Layout | None, ...],
        made: tuple[Layout, ...],
        parts: dict[int, tuple[int, int]],
        scope: dict[str, Any],
        overwrites: bool = False,
    ) -> None:
        assert line.op is not None
        self._overwrites = overwrites
        self._op, self._operands, self._constants = line.op, operands, constants
        self._given, self._made, self._parts, self._scope = given, made, parts, scope
        self._call = compile(line.text.partition(" = ")[2], "<dataflow line>", "eval")
        self._kernel = kernel_of(line, scope)

    def find(self, inputs: list[Any], results: list[Any]) -> Recorded | None:
        """What gives the kernel's bits; ``None`` where nothing does."""
        from dataflow.kernels.jit.call_writers import CannotWrite

        arrays = [np.asarray(x) for x in inputs]
        first: CallList | None = None
        with contextlib.suppress(CannotWrite):  # there may be other ways
            first = self._written(0, arrays)  # a loop that is being compiled ends it here
        cases = []
        if not self._overwrites:
            cases.append((arrays, [np.asarray(x) for x in results]))
        for special in (False, True):
            for number in range(self._num_cases()):
                numbers = self._stand_ins(inputs, number, special)
                try:
                    wanted = self._by_kernel(numbers)
                except Exception:  # the kernel takes no such numbers
                    return None
                if self._overwrites:
                    numbers = self._stand_ins(inputs, number, special)
                cases.append((numbers, wanted))
        for variant in range(_MOST_VARIANTS):
            written: CallList | None = None if variant else first
            if variant or self._overwrites:
                with contextlib.suppress(CannotWrite):
                    written = self._written(variant, cases[0][0])
            if written is not None and all(self._agrees(written, *case) for case in cases):
                return Recorded(self._given, self._made, variant, self._parts)
        return None

    def _num_cases(self) -> int:
        """How often it is tried: one number may be right by chance, and shows one special number alone."""
        results = sum(math.prod(x.shape) for x in self._made)
        work = sum(_ONE_ARRAY + math.prod(x.shape) for x in self._given if x is not None)
        return max(2, min(-(-_FEWEST_RESULTS // results), _MOST_WORK // max(1, work)))

    def _stand_ins(self, inputs: list[Any], number: int, special: bool) -> list[Any]:
        return [self._stand_in(k, x, number, special) for k, x in enumerate(inputs)]

    def _stand_in(self, k: int, x: Any, number: int, special: bool) -> Any:
        layout = self._given[k]
        if k in self._constants or layout is None:
            return x
        return random_array(layout, np.asarray(x), k + number * len(self._given), special)

    def _by_kernel(self, numbers: list[Any]) -> list[Array]:
        names: dict[str, Any] = {}
        for k, text in enumerate(self._operands):
            if is_constant(text):
                continue
            layout, x = self._given[k], numbers[k]
            variable = _VARIABLE.fullmatch(text)
            if variable is not None:
                names[variable[1]] = _Holder(x)
            elif text.endswith(".matrix"):
                from dataflow.kernels.jit.gemm import PackedMatrix

                names[text.partition(".")[0]] = PackedMatrix(x)
            elif text.isidentifier():
                names[text] = x[()] if layout is not None and layout.is_scalar else x
            else:
                raise ValueError(text)
        found = eval(self._call, {**self._scope, **names})
        return [np.asarray(x) for x in (found if isinstance(found, (tuple, list)) else [found])]

    def _written(self, variant: int, inputs: list[Array]) -> CallList:
        from dataflow.kernels.jit.call_list import CallWriter
        from dataflow.kernels.jit.call_writers import Node, write

        outputs = self._outputs()
        arrays = [x for k, x in enumerate(inputs) if k not in self._constants]
        packed = self._packed(inputs)
        whole = [x for i, x in enumerate(outputs) if i not in self._parts]
        w = CallWriter([*arrays, *packed.values(), *whole], packed=packed)
        operands = [w.constant(x) if k in self._constants else x for k, x in enumerate(inputs)]
        write(
            w,
            Node(
                self._op.type,
                self._op.attrs,
                operands,
                outputs,
                self._constants,
                self._kernel,
                variant,
            ),
        )
        return w.list()

    def _packed(self, inputs: Sequence[Any]) -> dict[tuple[int, int], Array]:
        """The panels of a packed matrix among the inputs, by its `id` and the number of parts."""
        from dataflow.kernels.jit.call_writers import packed_panels

        found = packed_panels(self._op.type, inputs)
        return {} if found is None else {(id(inputs[1]), found[0]): found[1]}

    def _outputs(self) -> list[Array]:
        """Arrays for the results, with a number that is none of theirs."""
        found = [np.full(x.shape, 77, x.dtype) for x in self._made]
        for i, (k, offset) in self._parts.items():
            found[i] = array_at(found[k], offset, self._made[i])
        return found

    def _agrees(self, written: CallList, inputs: list[Any], wanted: list[Array]) -> bool:
        outputs = self._outputs()
        arrays = [np.asarray(x) for k, x in enumerate(inputs) if k not in self._constants]
        whole = [x for i, x in enumerate(outputs) if i not in self._parts]
        if not written.run(*arrays, *self._packed(inputs).values(), *whole):
            return False
        return all(same_bits(a, b) for a, b in zip(outputs, wanted, strict=True))


def lines_of_shapes(lines: Sequence[Line]) -> frozenset[int]:
    """The lines whose results depend on constants and shapes alone, and those that check such results."""
    known: set[str] = set()
    found = set()
    for i, line in enumerate(lines):
        op = line.op
        if op is None or not line.operands or not (can_merge(op) or op.op_def.only_checks):
            continue
        if op.op_def.shape_only or all(is_constant(x) or x in known for x in line.operands):
            found.add(i)
            known.update(line.sets)
    return frozenset(found)


def kernel_of(line: Line, scope: dict[str, Any]) -> Any:
    """The bound kernel that a line calls; ``None`` for an operator of Python's."""
    name = line.text.partition(" = ")[2].partition("(")[0]
    return scope.get(name)
