"""Checks of lesson 2: what a run computes."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


@exercise(
    "Start at each of the two fetches and go against the arrows.",
    "Mark both fetches, then what each of them reads, then what that reads, until nothing is "
    "left to read.",
    lambda v: (
        f"{v.other} reads nothing. {v.first} reads two nodes; write them down, and whatever they read. "
        "Those, and the fetches themselves, are all."
    ),
)
def ex1(session: BaseSession, names: Any) -> str:
    """The nodes that a run of two fetches computes."""
    v = drawn("lesson02.ex1")
    needed = session.needed([f"{v.first}:0", f"{v.other}:0"])
    expect_type(
        isinstance(names, (Set, list, tuple, np.ndarray))
        and all(isinstance(n, str) for n in names),
        f"names is {names!r}, needed a set of strings such as {{'x', 'mul_op'}}",
    )
    known = {op.name for op in session.graph.get_operations()}
    unknown = sorted(set(names) - known)
    tensors = [name for name in unknown if name.partition(":")[0] in known]
    expect_type(
        not tensors, f"{', '.join(tensors)} names a tensor; leave :0 out for the node's name"
    )
    expect(not unknown, f"there is no node called {', '.join(unknown)}")
    extra = sorted(set(names) - needed)
    missing = len(needed - set(names))
    expect(not extra, f"{extra[0] if extra else ''} is not computed: neither fetch reads it")
    expect(not missing, f"all that you named are computed, but {missing} more must be")
    return f"Right: {', '.join(sorted(needed))}, as the session says."


@exercise(
    "A node needs what it reads: make one that reads useless.",
    "The new node is what will be fetched. It has to have useless among its inputs.",
    "Any operation will do: tf.negative(useless), or useless + 1.",
)
def ex2(session: BaseSession, useful: Any) -> str:
    """A new node that needs ``useless``."""
    graph = session.graph
    expect_type(
        isinstance(useful, (tf.Tensor, tf.Operation)),
        f"useful is {type(useful).__name__}, needed a tensor: a new node's output",
    )
    element = graph.as_graph_element(useful)
    op = getattr(element, "op", element)
    expect(op.name != "useless", "that is useless itself; add a node that reads it")
    needed = session.needed(element)
    expect(
        "useless" in needed,
        f"a run of {op.name} computes {', '.join(sorted(needed))}, but not useless",
    )
    value = session.run(element)
    return f"Right: a run of {op.name} needs useless, and returns {value}."


@exercise(
    "How many times does your function call sess.run? Each run computes what it needs afresh.",
    "Within one run a node is computed once, whoever reads it. So there should be one run.",
    "run takes a list of fetches, and returns a list of values.",
)
def ex3(session: BaseSession, both: Callable[[Any], Any]) -> str:
    """Two values from one run."""
    from dataflow.runtime.events import subscribe

    runs: list[Any] = []
    stop = subscribe(runs.append)
    try:
        values = both(session)
    finally:
        stop()
    real = [int(value) for value in session.run(["mul_op:0", "pow_op:0"])]
    values = list(values.values()) if isinstance(values, dict) else values
    expect_type(
        isinstance(values, (list, tuple, np.ndarray)),
        f"it returned {values}, needed two values, those of mul_op and pow_op: {real}",
    )
    got = [value.item() if isinstance(value, np.generic) else value for value in values]
    expect(got == real, f"it returned {got}, needed the values of mul_op and pow_op: {real}")
    times = sum("mul_op" in run.needed for run in runs)
    expect(times, "the values are right, but no run computed mul_op; let sess.run give them")
    expect(times == 1, f"the values are right, but mul_op was computed {times} times")
    return f"Right: {real}, and mul_op was computed once."


@exercise(
    "What does pow_op read? If those tensors are given, nothing above them is needed.",
    "pow_op reads add_op and mul_op. A feed takes the place of the node, so feed these two.",
    lambda v: (
        "feeds = {add_op: ..., mul_op: ...}, with two numbers of which the first to the power of the "
        f"second is {v.result}."
    ),
)
def ex4(session: BaseSession, feeds: Any) -> str:
    """Feeds that leave nothing but pow_op to compute, for a given result."""
    expect_type(
        isinstance(feeds, dict),
        f"feeds is {type(feeds).__name__}, needed a dictionary: {{tensor: value}}",
    )
    needed = session.needed("pow_op:0", feeds)
    rest = sorted(needed - {"pow_op"})
    expect("pow_op" in needed, "pow_op itself is fed, so nothing is computed at all")
    expect(not rest, f"with these feeds the run still computes {', '.join(rest)}")
    value = session.run("pow_op:0", feeds)
    result = drawn("lesson02.ex4").result
    expect(
        value == result, f"pow_op is the only node left, but it returns {value}, needed {result}"
    )
    return f"Right: one node is computed, and it returns {result}."
