"""A while loop inside a loop in machine code: steps are repeated until all lanes are done.

Among a loop's steps it is ``("Repeat", (start, steps, next, done, most))``. ``start`` holds the indices
of the state's initial values. Inside, indices continue with the iteration's number (1, 2, ...), the
state, and then the results of ``steps``; ``next`` holds the indices of the new state, and ``done`` that
of a bool: whether an element is finished. The loop ends when all elements of a vector are done, or
after ``most`` iterations. Its value is the first part of the state; ``("Part", (number, i))`` is part i
of the loop whose value has index ``number``. Such loops cannot be nested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.kernels.jit.llvm_builder import mangled

if TYPE_CHECKING:
    from dataflow.kernels.jit.step_codegen import StepWriter


def write(
    steps_writer: StepWriter,
    values: list[str],
    start: tuple[int, ...],
    steps: tuple[Any, ...],
    following: tuple[int, ...],
    done: int,
    most: int,
) -> list[str]:
    """Writes the loop and returns the names of the parts of the final state."""
    x, w = steps_writer, steps_writer.w
    before, again, after = map(w.name, ("before", "again", "after"))
    w.enter(before)
    w.enter(again)
    turn = w.phi("i64", 1, before)
    state = [w.phi(x.type, values[begin], before) for begin in start]
    inner = [*values, x.spread(w.put(f"sitofp i64 {turn} to {x.element}")), *state]
    x.values_of(steps, inner)
    ready = w.call(
        f"@llvm.vector.reduce.and.{mangled(x.truth)}", (x.truth, inner[done]), result="i1"
    )
    result = [inner[value] for value in following]
    following_turn = w.op("add", turn, 1)
    for phi, value in zip((turn, *state), (following_turn, *result), strict=True):
        w.arrive(phi, value)
    w.branch(w.put(f"or i1 {ready}, {w.compare('sgt', following_turn, most)}"), after, again)
    w.begin(after)
    return result
