"""The table of rules: in which order they are asked, and what is not taken from them."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf
from dataflow.rewrites.rules import forget_rule, rewrite
from tests.rewrites.rewritten import rewritten, types


def run(y: Any, x: Any, rules: list[Any]) -> tuple[list[str], Any, list[str]]:
    """The types of the nodes after these rules alone know Softsign, the result, and who hit."""
    added = [rewrite("Softsign")(rule) for rule in rules]
    try:
        with tf.Session() as session:
            plan = rewritten(session, [y], [x])
            hits = [h.rule for h in plan.journal]
            return types(plan), plan.run([[1.0, -3.0]])[0].tolist(), hits
    finally:
        for rule in added:
            forget_rule(rule)


def nothing(t: Any) -> Any:
    """softsign(x) -> nothing"""
    return


def itself(t: Any) -> Any:
    """softsign(x) -> softsign(x)"""
    return t


def another_type(t: Any) -> Any:
    """softsign(x) -> int(x)"""
    return tf.cast(t.op.inputs[0], tf.int32)


def right(t: Any) -> Any:
    """softsign(x) -> floor(x)"""
    return tf.floor(t.op.inputs[0])


def late(t: Any) -> Any:
    """softsign(x) -> ceil(x)"""
    return tf.ceil(t.op.inputs[0])


@pytest.mark.parametrize("before", [[], [nothing], [itself], [another_type], [nothing, itself]])
def test_a_rule_that_gives_nothing_usable_leaves_the_node_to_the_next(before: list[Any]) -> None:
    x = tf.placeholder(tf.float32, [2])
    kinds, result, hits = run(tf.nn.softsign(x), x, [*before, right, late])
    assert "Softsign" not in kinds and "Ceil" not in kinds and "Cast" not in kinds
    assert result == [1.0, -3.0] and hits.count("right") == 1 and "late" not in hits


def test_no_rule_is_no_change() -> None:
    x = tf.placeholder(tf.float32, [2])
    _, result, hits = run(tf.nn.softsign(x), x, [nothing, another_type])
    assert result == [0.5, -0.75] and "another_type" not in hits


def test_a_rule_may_not_lose_what_a_node_waits_for() -> None:
    """The node that it would skip waits for an assignment."""

    def past_exp(t: Any) -> Any:
        """softsign(exp(x)) -> floor(x)"""
        inner = t.op.inputs[0].op
        return tf.floor(inner.inputs[0]) if inner.type == "Exp" else None

    count = tf.Variable(0.0)
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.assign_add(count, 1.0)]):
        waits = tf.exp(x)
    _, _, hits = run(tf.nn.softsign(tf.exp(x)), x, [past_exp])
    assert "past_exp" in hits
    with tf.Session() as session:
        rewrite("Softsign")(past_exp)
        try:
            session.run(count.initializer)
            plan = rewritten(session, [tf.nn.softsign(waits)], [x])
            plan.run([[1.0, 2.0]])
        finally:
            forget_rule(past_exp)
        assert session.run(count) == 1.0
