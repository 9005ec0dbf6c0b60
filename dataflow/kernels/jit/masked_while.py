"""A while loop inside a loop in machine code: steps are repeated until all lanes are done.

Among a loop's steps it is ``("Repeat", (start, steps, next, done, most))``. ``start`` holds the indices
of the state's initial values. Inside, indices continue with the iteration's number (1, 2, ...), the
state, and then the results of ``steps``; ``next`` holds the indices of the new state, and ``done`` that
of a bool: whether an element is finished. The loop ends when all elements of a vector are done, or
after ``most`` iterations. Its value is the first part of the state; ``("Part", (number, i))`` is part i
of the loop whose value has index ``number``. Such loops cannot be nested.
"""

from __future__ import annotations

from typing import Any, Protocol


class _Writer(Protocol):
    """The part of `step_codegen.StepWriter` that is used here."""

    type: str
    truth: str
    element: str
    prefix: str
    count: int
    lanes: int
    lines: list[str]
    declared: set[str]

    def put(self, text: str) -> str: ...
    def spread(self, scalar: str) -> str: ...
    def values_of(self, steps: Any, values: list[str]) -> None: ...


def write(
    w: _Writer,
    values: list[str],
    start: tuple[int, ...],
    steps: tuple[Any, ...],
    following: tuple[int, ...],
    done: int,
    most: int,
) -> list[str]:
    """Writes the loop and returns the names of the parts of the final state."""
    name = f"{w.prefix}repeat{w.count}"
    w.lines += [f"  br label %{name}.before", f"{name}.before:", f"  br label %{name}", f"{name}:"]
    first = len(w.lines)
    state = [f"%{name}.state{i}" for i in range(len(start))]
    inner = [*values, w.spread(w.put(f"sitofp i64 %{name}.i to {w.element}")), *state]
    w.values_of(steps, inner)
    after = [inner[number] for number in following]
    ready = inner[done]
    if w.lanes > 1:
        function = f"@llvm.vector.reduce.and.v{w.lanes}i1"
        w.declared.add(f"declare i1 {function}({w.truth})")
        ready = w.put(f"call i1 {function}({w.truth} {ready})")
    phis = [f"  %{name}.i = phi i64 [1, %{name}.before], [%{name}.next, %{name}]"]
    for phi, begin, end in zip(state, start, after, strict=True):
        pairs = f"[{values[begin]}, %{name}.before], [{end}, %{name}]"
        phis.append(f"  {phi} = phi {w.type} {pairs}")
    w.lines[first:first] = phis
    w.lines += [
        f"  %{name}.next = add i64 %{name}.i, 1",
        f"  %{name}.last = icmp sgt i64 %{name}.next, {most}",
        f"  %{name}.end = or i1 {ready}, %{name}.last",
        f"  br i1 %{name}.end, label %{name}.after, label %{name}",
        f"{name}.after:",
    ]
    return after
