"""`ConfigProto` switches each group of rewrites, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

OFF, ON = tf.GraphOptions().rewrite_options.OFF, tf.GraphOptions().rewrite_options.ON


def rules(fetch: Any, feeds: dict[Any, Any], **rewrite_options: Any) -> set[str]:
    """The rules that fit with these switches; the value must be that of a plain run."""
    config = tf.ConfigProto(
        graph_options=tf.GraphOptions(
            optimizer_options=rewrite_options.pop("optimizer_options", tf.OptimizerOptions()),
            rewrite_options=type(tf.GraphOptions().rewrite_options)(**rewrite_options),
        )
    )
    with tf.Session(config=config) as s:
        plan = Plan(s, FetchPlan(s.graph, fetch), list(feeds))
        plain = plan.run(feeds.values())
        plan.rewrite()
        np.testing.assert_allclose(plan.run(feeds.values()), plain, rtol=1e-6)
    return {hit.rule for hit in plan.journal}


def everything() -> tuple[Any, dict[Any, Any]]:
    """A graph in which a rule of every group fits."""
    x = tf.placeholder(tf.float32, [200, 300])
    two = tf.constant(1.0) + tf.constant(1.0)
    y = tf.cond(two > 1.0, lambda: tf.tanh(x * 1.0), lambda: tf.exp(x))
    with tf.control_dependencies([tf.sin(x)]):
        y = tf.identity(y)
    twice = tf.sqrt(tf.abs(y)) + tf.sqrt(tf.abs(y)) * two
    return twice, {x: np.full((200, 300), 0.5, np.float32)}


GROUPS = {
    "constant_folding": "fold",
    "arithmetic_optimization": "times_one",
    "dependency_optimization": "control_edge_onto_unread_value",
    "common_subgraph_elimination": "common_subexpression",
    "remapping": "fusion",
    "loop_optimization": "switch_on_constant",
}


def test_by_default_all_are_on() -> None:
    assert rules(*everything()) >= set(GROUPS.values())


@pytest.mark.parametrize("option", GROUPS)
def test_each_group_has_a_switch(option: str) -> None:
    found = rules(*everything(), **{option: OFF})
    assert GROUPS[option] not in found
    assert found  # the others stay on


def test_the_older_options() -> None:
    y, feeds = everything()
    options = tf.OptimizerOptions
    assert "fold" not in rules(y, feeds, optimizer_options=options(do_constant_folding=False))
    assert "common_subexpression" not in rules(
        y, feeds, optimizer_options=options(do_common_subexpression_elimination=False)
    )
    assert not rules(y, feeds, optimizer_options=options(opt_level=options.L0))
    assert not rules(y, feeds, disable_meta_optimizer=True)


def test_the_size_of_folded_constants_is_bounded() -> None:
    x = tf.placeholder(tf.float32, [100])
    y = x + tf.tile(tf.constant([1.0]), [100])
    feeds = {x: np.zeros(100, np.float32)}
    assert "fold" in rules(y, feeds)
    small = tf.OptimizerOptions(max_folded_constant_in_bytes=100)
    assert "fold" not in rules(y, feeds, optimizer_options=small)


def test_small_graphs_can_be_left_alone() -> None:
    x = tf.placeholder(tf.float32, [2])
    y, feeds = tf.tanh(x * 1.0), {x: np.ones(2, np.float32)}
    assert "times_one" in rules(y, feeds)
    assert not rules(y, feeds, min_graph_nodes=10)


def checked(x: Any) -> Any:
    """x squared, behind an assertion and a check."""
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), [x])]):
        return tf.square(tf.check_numerics(tf.identity(x), "bad"))


def test_the_debug_stripper_is_off_unless_it_is_asked_for() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = checked(x)
    with tf.Session() as s:
        for _ in range(5):
            with pytest.raises(tf.errors.InvalidArgumentError):
                s.run(y, {x: [-1.0, 2.0]})


def test_the_debug_stripper_takes_out_assertions_and_checks() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = checked(x)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.debug_stripper = ON
    with tf.Session(config=config) as s:
        plan = Plan(s, FetchPlan(s.graph, y), [x])
        plan.rewrite()
        np.testing.assert_array_equal(plan.run([[-1.0, np.inf]]), [1.0, np.inf])
    left = {op.type for op in plan.compiled_ops}
    assert not left & {"Assert", "CheckNumerics"}


def test_a_stripped_assertion_hands_on_what_it_waited_for() -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        check = tf.Assert(tf.constant(False), ["never"])
    with tf.control_dependencies([check]):
        y = v.read_value()
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.debug_stripper = ON
    with tf.Session(config=config) as s:
        s.run(v.initializer)
        plan = Plan(s, FetchPlan(s.graph, y), [])
        plan.rewrite()
        assert [plan.run([]) for _ in range(2)] == [2.0, 3.0]


def test_what_is_printed_no_longer_still_happens() -> None:
    v = tf.Variable(1.0)
    y = tf.square(tf.Print(tf.constant(3.0), [tf.assign_add(v, 1.0)], "v"))
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.debug_stripper = ON
    with tf.Session(config=config) as s:
        s.run(v.initializer)
        plan = Plan(s, FetchPlan(s.graph, y), [])
        plan.rewrite()
        assert [plan.run([]) for _ in range(2)] == [9.0, 9.0]
        assert s.run(v) == 3.0
    assert "Print" not in {op.type for op in plan.compiled_ops}


def test_a_cycle_that_no_loop_closes_is_refused() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    first = tf.exp(x, name="first")
    second = tf.square(first, name="second")
    first.op._update_input(0, second)
    with tf.Session() as s:
        for fetch in (first, second, tf.sin(second)):
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match="cycle through '(first|second)' and '(first|second)', which no loop",
            ):
                s.run(fetch, {x: 1.0})
        assert s.run(tf.sin(second), {second: 0.0}) == 0.0  # a fed value breaks it


def test_a_config_without_switches_has_the_defaults() -> None:
    assert RewriteOptions.from_config(tf.ConfigProto()) == RewriteOptions()
