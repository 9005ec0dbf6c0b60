"""Calls of a list that threads make at the same time: what goes beside what, and in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.jit import side_by_side
from dataflow.kernels.jit.call_list import CallWriter
from dataflow.kernels.jit.call_list_code import is_available
from dataflow.kernels.jit.side_by_side import Link, SideBySide

pytestmark = pytest.mark.skipif(not is_available(), reason="this machine runs no machine code")


class _Writer:
    """Stands for a `CallWriter`: what is shared, and in which order calls are added."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.held_bytes = 0
        self.let_go_after: list[int] = []

    def hold(self) -> None:
        pass

    def let_go(self) -> None:
        self.held_bytes = 0
        self.let_go_after.append(len(self.made))

    def add(self, calls: list[Any]) -> None:
        self.made += calls

    def sequence(self, calls: list[Any]) -> Any:
        return tuple(calls)

    def share(self, sequences: list[Any]) -> None:
        self.made.append(set(sequences))


def schedule(*links: tuple[str, str, str, float]) -> tuple[_Writer, SideBySide]:
    """The writer after lines (name, blocks that it reads, that it writes, microseconds)."""
    writer = _Writer()
    beside = SideBySide(writer)  # type: ignore[arg-type]
    for name, reads, writes, cost in links:
        beside.add(Link([name], frozenset(map(ord, reads)), frozenset(map(ord, writes)), cost))
    return writer, beside


def test_two_products_and_their_sum() -> None:
    writer, beside = schedule(("p", "x", "a", 9.0), ("q", "x", "b", 9.0), ("s", "ab", "c", 9.0))
    assert writer.made == [{("p",), ("q",)}]
    beside.make_all()
    assert writer.made == [{("p",), ("q",)}, "s"]


def test_small_work_is_made_one_after_the_other() -> None:
    writer, beside = schedule(("p", "x", "a", 90.0), ("q", "x", "b", 4.0), ("s", "ab", "c", 9.0))
    beside.make_all()
    assert writer.made == ["p", "q", "s"]


def test_what_needs_one_chain_is_its_next_link() -> None:
    writer, beside = schedule(
        ("p", "x", "a", 9.0), ("q", "x", "b", 9.0), ("r", "a", "c", 9.0), ("t", "b", "d", 9.0)
    )
    assert writer.made == []
    beside.make_all()
    assert writer.made == [{("p", "r"), ("q", "t")}]


def test_what_needs_the_beginning_of_a_chain_goes_beside_its_rest() -> None:
    """As the next step of an unrolled network beside the logits of the one before."""
    writer, beside = schedule(
        ("step1", "x", "h", 9.0), ("logits1", "h", "l", 9.0), ("step2", "h", "g", 9.0)
    )
    assert writer.made == ["step1"]
    beside.make_all()
    assert writer.made == ["step1", {("logits1",), ("step2",)}]


@pytest.mark.parametrize(
    ("first", "second"),
    [(("x", "a"), ("a", "b")), (("x", "a"), ("y", "x")), (("x", "a"), ("y", "a"))],
    ids=["reads what is written", "writes what is read", "writes the same"],
)
def test_the_order_of_reads_and_writes_stays(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    writer, beside = schedule(("p", *first, 9.0), ("q", *second, 9.0))
    beside.make_all()
    assert writer.made == ["p", "q"]


def test_memory_is_used_again_when_all_is_made() -> None:
    writer, beside = schedule(("p", "x", "a", 9.0))
    writer.held_bytes = 1 << 20
    beside.add(Link(["q"], frozenset(b"x"), frozenset(b"b"), 9.0))
    assert writer.let_go_after == [1]
    assert writer.made == [{("p",), ("q",)}]


def test_a_chain_alone_holds_little_memory() -> None:
    writer, beside = schedule(("p", "x", "a", 9.0))
    writer.held_bytes = 1 << 18
    beside.add(Link(["q"], frozenset(b"a"), frozenset(b"b"), 9.0))
    assert writer.let_go_after == [0] and writer.made == []
    writer.held_bytes = 1 << 18
    beside.add(Link(["r"], frozenset(b"x"), frozenset(b"c"), 9.0))
    assert writer.let_go_after == [0]


def test_released_memory_waits_while_it_is_held() -> None:
    w = CallWriter([])
    w.hold()
    first = w.buffer((8, 8), np.float32)
    w.release(first)
    other = w.buffer((8, 8), np.float32)
    assert w.block_of(first) != w.block_of(other)
    assert w.held_bytes == 256
    w.let_go()
    again = w.buffer((8, 8), np.float32)
    assert w.held_bytes == 0 and w.block_of(again) == w.block_of(first)


def test_views_lie_in_the_block_of_their_array() -> None:
    given = np.zeros((6, 4), np.float32)
    w = CallWriter([given])
    own = w.buffer((6, 4), np.float32)
    assert w.block_of(given) == w.block_of(given[2:, 1]) != w.block_of(own)
    assert w.block_of(own) == w.block_of(own[5, 3:])


def test_a_sequence_makes_its_calls_in_order() -> None:
    x, out = np.arange(15, dtype=np.float32).reshape(5, 3), np.zeros((5, 3), np.float32)
    w = CallWriter([x, out])
    mark = w.begin_line()
    assert w.ufunc(np.add, x, x, out) and w.ufunc(np.multiply, out, x, out)
    calls = w.take(mark)
    assert w.mark() == mark and len(calls) == 2
    w.add([w.sequence(calls)])
    assert w.list().run(x, out)
    np.testing.assert_array_equal(out, (x + x) * x)


def test_microseconds_count_multiplications() -> None:
    a, b, out = (np.zeros(s, np.float32) for s in ((50, 128), (128, 100), (50, 100)))
    one = side_by_side.microseconds(1, [a, b], [out])
    assert one == pytest.approx(50 * 128 * 100 / 50_000 + b.size / 2000)
    two = side_by_side.microseconds(2, [a, a, b, b], [out])
    assert two == pytest.approx(2 * one - b.size / 2000)
    assert side_by_side.microseconds(0, [a], [a]) == pytest.approx(a.size / 2000)
