"""Loops and branches of a plan as functions, each called by one line.

A step can continue while one of its ops waits (`waiting`) only line by line. So where an op that may wait
stands in a loop or a branch, each block of the plan, that is, each outermost ``while`` or ``if`` with what
stands below it, becomes a function: its parameters are the locals that it reads from outside, its
results those that are read later. A local that no taken branch has set is `DEAD`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dataflow.graph.operation import Operation

if TYPE_CHECKING:
    from dataflow.runtime.codegen import Generator, Line

#: How the first line of a block begins, and how one that goes on with a block does.
_BEGINS = ("if ", "while ")
_GOES_ON = ("elif ", "else:")


class Block(NamedTuple):
    """Lines ``first`` to ``last`` (both included); its function's ``name``, and the nodes of its lines."""

    first: int
    last: int
    name: str
    ops: tuple[Operation, ...]


def find(lines: Sequence[Line]) -> list[Block]:
    """The outermost blocks, in order."""
    blocks: list[Block] = []
    first = -1
    for i, line in enumerate(lines):
        if line.indent > 1 or line.text.startswith(_GOES_ON):
            continue
        if first >= 0:
            blocks.append(_block(lines, first, i - 1))
        first = i if line.text.startswith(_BEGINS) else -1
    return blocks  # the last line returns, and is in none


def _block(lines: Sequence[Line], first: int, last: int) -> Block:
    ops = dict.fromkeys(x.op for x in lines[first : last + 1] if x.op is not None)
    return Block(first, last, f"block{first}", tuple(ops))


def fold(
    generator: Generator, blocks: Sequence[Block]
) -> tuple[list[list[Line]], dict[Operation, tuple[Operation, ...]]]:
    """Puts a call in the place of each block.

    Returns the lines of the functions, and the nodes of each block by the one that stands for it.
    """
    lines = generator.lines
    later: list[frozenset[str]] = []  # the locals that are read after each line
    read: frozenset[str] = frozenset()
    for line in reversed(lines):
        later.append(read)
        if not read.issuperset(line.reads):
            read = read.union(line.reads)
    later.reverse()
    inside = {i for block in blocks for i in range(block.first, block.last + 1)}
    outside = {x.op for i, x in enumerate(lines) if i not in inside}
    begins = {block.first: block for block in blocks}
    known = set(generator.parameters)
    folded: list[Line] = []
    functions: list[list[Line]] = []
    members: dict[Operation, tuple[Operation, ...]] = {}
    for i, line in enumerate(lines):
        block = begins.get(i)
        if block is not None:
            own = [op for op in block.ops if op not in outside]
            stands = next((op for op in own if op.op_def.blocks), own[0] if own else None)
            call, function = _function(lines, block, later[block.last], known, stands)
            folded.append(call)
            functions.append(function)
            if stands is not None:
                members[stands] = block.ops
        elif i not in inside:
            folded.append(line)
        known.update(line.sets)
    generator.lines = folded
    return functions, members


def _function(
    lines: Sequence[Line],
    block: Block,
    later: frozenset[str],
    known: set[str],
    stands: Operation | None,
) -> tuple[Line, list[Line]]:
    """The line that calls a block, and the lines of its function."""
    body = lines[block.first : block.last + 1]
    gives = [n for n in dict.fromkeys(n for x in body for n in x.sets) if n in later]
    used = dict.fromkeys([*(n for x in body for n in x.reads), *gives])
    takes = tuple(n for n in used if n in known)
    made = [n for n in gives if n not in known]
    line_type = type(body[0])
    function = [line_type(0, f"def {block.name}({', '.join(takes)}):", None)]
    if made:
        function.append(line_type(1, f"{' = '.join(made)} = DEAD", None))
    function += body
    call = f"{block.name}({', '.join(takes)})"
    if gives:
        function.append(line_type(1, f"return {', '.join(gives)}", None))
        call = f"{', '.join(gives)} = {call}"
    return line_type(1, call, stands, tuple(gives), takes), function
