"""Which fed truth values decide conditionals, and what is left of those when a plan is made for their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites import known_predicates
from dataflow.rewrites.control_flow_positions import Position
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

CONTROL_FLOW = {"Switch", "RefSwitch", "Merge", "RefMerge"}


def for_values(session: Any, fetches: Any, feeds: dict[Any, Any]) -> tuple[Plan, list[Any]]:
    """The rewritten plan of runs that feed the truth values among ``feeds`` so, and what it gives for them."""
    plan = Plan(session, FetchPlan(session.graph, fetches), list(feeds))
    assert plan.forms is not None
    form = plan.forms.plan_for(list(feeds.values()))
    assert form is not None
    form.rewrite()
    return form, form.run(feeds.values())


def types(plan: Plan) -> set[str]:
    return {op.type for op in plan.compiled_ops}


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "predicate",
    [
        lambda p: p,
        tf.identity,
        tf.logical_not,
        lambda p: tf.logical_not(tf.logical_not(p)),
        lambda p: tf.logical_and(p, True),
        lambda p: tf.logical_or(tf.identity(p), tf.logical_not(p)),
        lambda p: tf.reduce_all(tf.stack([p, True])),
    ],
)
def test_the_branch_taken_stays(predicate: Callable[[Any], Any], value: bool) -> None:
    x, p = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.bool, [])
    decided = predicate(p)
    y = tf.sqrt(tf.cond(decided, lambda: tf.exp(x), lambda: tf.square(x)) + 2.0)
    feeds = {x: np.array([0.1, 0.2, 0.3], np.float32), p: value}
    with tf.Session() as session:
        taken, wanted = session.run([decided, y], feeds)
        plan, result = for_values(session, y, feeds)
    np.testing.assert_array_equal(result, wanted)
    assert not types(plan) & CONTROL_FLOW
    assert "fed_predicate" in {hit.rule for hit in plan.journal}
    source = plan.source + "".join(hit.source for hit in plan.journal)
    assert ("Exp" in types(plan) or "exp" in source) is bool(taken)


def found(fetch: Any, feeds: list[Any]) -> list[Any]:
    with tf.Session() as session:
        plan = Plan(session, FetchPlan(session.graph, fetch), feeds)
        return known_predicates.find(plan.ops, plan.feeds)


def test_other_truth_values_decide_nothing() -> None:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    many = tf.placeholder(tf.bool, [4])
    number = tf.placeholder(tf.float32, [])
    x = tf.where(many, tf.ones(4), tf.zeros(4)) * tf.cast(q, tf.float32)
    y = tf.cond(p, lambda: x, lambda: -x)
    z = tf.cond(number > 0.0, lambda: y, lambda: y + 1.0)
    assert found(z, [p, q, many, number]) == [p]
    assert found(x, [q, many]) == []
    assert found(z, [q, y, number, many]) == []


def test_a_number_made_of_a_truth_value_is_not_followed() -> None:
    """A plan could be made for it, but nothing would know what the number is."""
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    y = tf.cond(tf.cast(p, tf.float32) > 0.5, lambda: x, lambda: -x)
    assert found(y, [p, x]) == []


def test_what_a_fed_value_hides_decides_nothing() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    other = tf.logical_not(p)
    y = tf.cond(other, lambda: x, lambda: -x)
    assert found(y, [p, x]) == [p]
    assert found([y, tf.identity(p)], [other, p, x]) == [other]


def test_a_loop_s_condition_is_not_decided_by_the_value_that_it_starts_with() -> None:
    go = tf.placeholder(tf.bool, [])
    _, count = tf.while_loop(
        lambda more, i: more, lambda more, i: (tf.less(i, 3), i + 1), [go, tf.constant(0)]
    )
    assert found(count, [go]) == []
    with tf.Session() as session:
        for value, wanted in ((True, 4), (False, 0)) * 4:
            assert session.run(count, {go: value}) == wanted


def test_a_conditional_in_a_loop() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.cond(p, lambda: h * 2.0, lambda: h + 3.0)

    _, y = tf.while_loop(lambda i, h: i < 3, body, [tf.constant(0), x])
    with tf.Session() as session:
        for value, wanted in ((True, 8.0), (False, 10.0)):
            plan, result = for_values(session, y, {p: value, x: 1.0})
            assert result == wanted
            assert not any("cond" in op.name and "Switch" in op.type for op in plan.compiled_ops)


def test_positions_without_the_branches_that_are_taken() -> None:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    negated = tf.logical_not(tf.identity(p))
    place = Position((), frozenset({(p, True), (q, True), (negated, False)}))
    assert known_predicates.without_taken(place, {p: True}).branches == {(q, True)}
    assert known_predicates.without_taken(place, {p: False}) == place
    assert known_predicates.without_taken(place, {}) == place


@pytest.mark.parametrize("value", [True, False])
def test_a_change_in_a_branch_comes_before_or_after_a_read_as_it_was_built(value: bool) -> None:
    """Nothing orders them; so it is as in the runs before the plan was rewritten."""
    p = tf.placeholder(tf.bool, [])
    v, w = (tf.Variable(np.full((64, 40), 2, np.float32)) for _ in range(2))
    before = tf.reduce_sum(tf.square(v), 1)
    changes = [
        tf.cond(p, lambda u=u: tf.assign_add(u, tf.ones([64, 40])), lambda u=u: tf.identity(u)).op
        for u in (v, w)
    ]
    after = tf.reduce_sum(tf.square(w), 1)
    with tf.Session() as session:
        seen = []
        for _ in range(6):
            session.run(tf.global_variables_initializer())
            seen.append(session.run([before, after, changes], {p: value})[:2])
    for one in seen[1:]:
        np.testing.assert_array_equal(one, seen[0])
