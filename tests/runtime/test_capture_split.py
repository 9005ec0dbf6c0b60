"""Why a plan on a GPU cannot be captured, and what the host does first where it can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime.capture_split import Split, split
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    with pretend_gpus(2), tf.Graph().as_default():
        yield


def parts(fetches: Any, *feeds: Any) -> Split | str:
    with tf.Session() as session:
        plan = Plan(session, FetchPlan(session.graph, fetches, session), list(feeds))
        operations = plan.fetches.operations
        return split(plan.place(plan.ops, plan.fetches.tensors, operations, plan.feeds))


def x_and_y() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [4], name="x")
    return x, tf.square(x, name="y")


def on(device: str, make: Any, *arguments: Any, **names: Any) -> Any:
    with tf.device(device):
        return make(*arguments, **names)


def after(first: Any, make: Any) -> Any:
    with tf.control_dependencies([first]):
        return make()


def no_gpu() -> Any:
    x = tf.placeholder(tf.float32, [4], name="x")
    return on("/cpu:0", tf.square, x), x


def several() -> Any:
    x, y = x_and_y()
    return on("/gpu:1", tf.exp, y), x


def fed_and_fetched() -> Any:
    x, y = x_and_y()
    return [x, y], x


def decided_by_a_value() -> Any:
    x, y = x_and_y()
    drawn = tf.py_func(lambda: True, [], tf.bool)
    drawn.set_shape([])
    return tf.raw_ops.Switch(data=y, pred=drawn, name="decides")[1], x


def computed_by_the_host() -> Any:
    x, y = x_and_y()
    return tf.as_string(y), x


def host_after_the_gpu() -> Any:
    x, y = x_and_y()
    text = after(y, lambda: tf.py_func(str, [x], tf.string, name="text"))
    return [y, text], x


def host_after_what_waits_for_the_gpu() -> Any:
    x, y = x_and_y()
    between = after(y, lambda: on("/cpu:0", tf.no_op, name="between"))
    text = after(between, lambda: tf.py_func(str, [x], tf.string, name="text"))
    return [y, text], x


def host_in_a_branch() -> Any:
    x, y = x_and_y()
    switch = tf.placeholder(tf.bool, [])
    word = on("/cpu:0", tf.raw_ops.Switch, data=tf.constant(3), pred=switch)[1]
    return [y, tf.py_func(str, [word], tf.string, name="text")], x, switch


def host_behind_a_branch() -> Any:
    x, y = x_and_y()
    switch = tf.placeholder(tf.bool, [])
    taken = tf.cond(switch, lambda: y + 1.0, lambda: y)
    text = after(taken, lambda: tf.py_func(str, [], tf.string, name="text"))
    return [y, text], x, switch


def size_from_the_host() -> Any:
    x, y = x_and_y()
    shape = tf.placeholder(tf.int32, [2])
    return tf.reshape(y, shape, name="shaped"), x, shape


def words() -> Any:
    x, y = x_and_y()
    return [y, tf.constant("word", name="word")], x


def state() -> Any:
    x, y = x_and_y()
    return tf.check_numerics(y, "", name="checked"), x


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (no_gpu, "it uses no GPU"),
        (several, "its nodes run on several GPUs"),
        (fed_and_fetched, "a fed value is fetched"),
        (decided_by_a_value, "'decides' (Switch) decides what runs, by values"),
        (computed_by_the_host, "the host computes with 'y:0'"),
        (host_after_the_gpu, "the host does 'text' (PyFunc) after 'y'"),
        (host_after_what_waits_for_the_gpu, "the host does 'text' (PyFunc) after 'between'"),
        (host_in_a_branch, "the host does 'text' (PyFunc) in a loop or branch"),
        (host_behind_a_branch, "the host does 'text' (PyFunc) after 'cond/Merge'"),
        (size_from_the_host, "'shaped' (Reshape) takes a value of the host that changes"),
        (words, "'word' (Const) works on strings or handles"),
        (state, "'checked' (CheckNumerics) keeps state on the host"),
    ],
)
def test_why_a_plan_is_not_captured(build: Any, why: str) -> None:
    fetches, *feeds = build()
    assert parts(fetches, *feeds) == why


def test_all_of_a_plan_without_the_host() -> None:
    x, y = x_and_y()
    switch = tf.placeholder(tf.bool, [], name="switch")
    flags = tf.placeholder(tf.bool, [4], name="flags")
    chosen = tf.cond(switch, lambda: y + 1.0, lambda: y)
    found = parts([y, tf.where(flags, chosen, y)], x, switch, flags)
    assert isinstance(found, Split) and found.before is None
    assert (found.feeds, found.from_host) == ([0, 1, 2], [None, None])
    assert found.switches == [1]  # a single truth value: a graph for each


def test_what_the_host_does_first() -> None:
    x, y = x_and_y()
    unused = tf.placeholder(tf.float32, [], name="for_the_host")
    drawn = tf.py_func(lambda u: np.float32([u, u]), [unused], tf.float32, name="drawn")
    drawn.set_shape([2])
    switch = tf.placeholder(tf.bool, [], name="switch")
    late = tf.cond(switch, lambda: y * 2.0, lambda: y)
    found = parts([late, drawn, tf.reduce_sum(drawn * 2.0)], unused, x, switch)
    assert isinstance(found, Split) and found.before is not None
    assert [op.type for op in found.before.ops] == ["PyFunc"]
    assert [t.op.name for t in found.before.fetches] == ["drawn"]
    assert found.feeds == [1, 2]  # of the plan's, and then what the host gives
    assert [t.op.name for t in found.captured.feeds] == ["x", "switch", "drawn"]
    assert found.switches == [1] and found.from_host == [None, 0, None]
    assert all(op.type != "PyFunc" for op in found.captured.ops)
    assert len(found.captured.fetches) == 2
