"""Runs that feed a predicate now so, now otherwise: each value has a plan, and results are as without."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.registry import get_op
from dataflow.runtime import specialized_plans
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING

#: Conditionals stay conditionals.
KEPT = tf.ConfigProto()
KEPT.graph_options.rewrite_options.loop_optimization = 2  # OFF
#: The order of the values in the runs: each plan is made in another run, and they alternate.
VALUES = [True, True, True, False, True, False, False, True, False, False, True, True]


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        yield


def plans(session: Any) -> list[Any]:
    return list(session._plans.values())


def has_branches(plan: Any) -> bool:
    return any(op.op_def.control_flow for op in plan.compiled_ops)


def network(kind: str) -> tuple[Any, list[Any], dict[Any, Any], Any]:
    """A network with batch normalization and dropout: training placeholder, fetches, feeds, a tensor in a branch."""
    random = np.random.default_rng(1)
    training = tf.placeholder(tf.bool, name="training")
    labels = tf.placeholder(tf.int32, [None])
    if kind == "images":
        shape, data_format = [None, 8, 8, 3], "channels_last"
    elif kind == "channels first":
        shape, data_format = [None, 3, 8, 8], "channels_first"
    else:
        shape, data_format = [None, 20], "channels_last"
    x = tf.placeholder(tf.float32, shape)
    h = x
    for filters in (16, 16):
        if len(shape) == 4:
            h = tf.layers.conv2d(h, filters, 3, padding="same", data_format=data_format)
        else:
            h = tf.layers.dense(h, filters)
        axis = 1 if data_format == "channels_first" else -1
        h = tf.nn.relu(tf.layers.batch_normalization(h, axis, training=training, momentum=0.5))
        h = tf.layers.dropout(h, 0.4, training=training)
    logits = tf.layers.dense(tf.layers.flatten(h), 4)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    feeds = {
        x: random.standard_normal([6, *shape[1:]]).astype(np.float32),
        labels: random.integers(0, 4, 6),
    }
    branch = next(t for t in tf.global_variables() if "moving_mean" in t.name)
    return training, [loss, logits, train, branch], feeds, h


def run_all(fetches: Any, training: Any, feeds: dict[Any, Any], config: Any = None) -> list[Any]:
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(fetches, {**feeds, training: value}) for value in VALUES]
        last = plans(session)[-1]
        if config is None:
            assert [has_branches(p) for p in last.forms._plans.values()] == [False, False]
        else:
            assert last.forms is None and has_branches(last)
        found.append(session.run(tf.global_variables()))
    return found


@pytest.mark.parametrize("kind", ["images", "channels first", "numbers"])
def test_training_and_testing_in_turns(kind: str) -> None:
    """The same bits as with conditionals: random numbers and moving averages go on where they were."""
    training, fetches, feeds, _ = network(kind)
    ours = run_all(fetches, training, feeds)
    kept = run_all(fetches, training, feeds, KEPT)
    for one, other in zip(ours, kept, strict=True):
        for a, b in zip(one, other, strict=True):
            if a is not None:
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["images", "numbers"])
def test_fetched_values_stay_as_they_were(kind: str) -> None:
    """What is fetched between the layers is not overwritten by what is computed from it."""
    training, (loss, logits, train, _), feeds, h = network(kind)
    inner = [op.outputs[0] for op in h.graph.get_operations() if op.type in ("Relu", "Merge")]
    inner = [t for t in inner if t.dtype == tf.float32 and "Assign" not in t.name]
    fetches = [loss, logits, train, *inner]
    ours = run_all(fetches, training, feeds)
    kept = run_all(fetches, training, feeds, KEPT)
    for one, other in zip(ours, kept, strict=True):
        for a, b in zip(one, other, strict=True):
            if a is not None:
                np.testing.assert_array_equal(a, b)


def test_a_fetch_in_the_branch_not_taken_is_refused_and_the_next_run_works() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    false, true = get_op("Switch")(x, p)
    inside = tf.exp(true)
    y, _ = get_op("Merge")([-false, inside + 1.0])
    with tf.Session() as session:
        for value in [True, False] * 5:
            feeds = {p: value, x: 0.0}
            assert session.run(y, feeds) == (2.0 if value else 0.0)
            if value:
                assert session.run([y, inside], feeds) == [2.0, 1.0]
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match="branch not taken"):
                    session.run([y, inside], feeds)


def test_the_predicate_is_fetched_as_it_was_fed() -> None:
    p = tf.placeholder(tf.bool, [])
    y, same = tf.cond(p, lambda: 1.0, lambda: 2.0), tf.identity(p)
    with tf.Session() as session:
        for value in VALUES:
            assert session.run([p, y, same], {p: value}) == [value, 1.0 if value else 2.0, value]


def test_a_predicate_with_a_default() -> None:
    p = tf.placeholder_with_default(False, [])
    y = tf.cond(p, lambda: 1.0, lambda: 2.0)
    with tf.Session() as session:
        for value in VALUES:
            assert session.run(y, {p: value}) == (1.0 if value else 2.0)
            assert session.run(y) == 2.0


def test_with_more_predicates_than_there_may_be_plans_one_plan_serves_all() -> None:
    flags = [tf.placeholder(tf.bool, []) for _ in range(3)]
    y = tf.constant(0)
    for i, flag in enumerate(flags):
        y = tf.cond(flag, lambda y=y, i=i: y + 2**i, lambda y=y: y + 0)
    with tf.Session() as session:
        for values in list(itertools.product([False, True], repeat=3)) * 3:
            wanted = sum(2**i for i, v in enumerate(values) if v)
            assert session.run(y, dict(zip(flags, values, strict=True))) == wanted
        (plan,) = plans(session)
        assert plan.forms is None and has_branches(plan) and plan._runs_left == -1


def test_a_predicate_that_is_no_scalar_is_refused_in_every_run() -> None:
    p = tf.placeholder(tf.bool)
    y = tf.cond(p, lambda: 1.0, lambda: 2.0)
    with tf.Session() as session:
        messages = set()
        for _ in range(RUNS_BEFORE_REWRITING + 3):
            assert session.run(y, {p: True}) == 1.0
            with pytest.raises(Exception) as raised:
                session.run(y, {p: [True, False]})
            messages.add(type(raised.value))
        assert len(messages) == 1


def test_other_sizes_of_a_batch() -> None:
    """Each plan assumes sizes for itself, and is made again without when they change."""
    training, (_, logits, train, _), feeds, _ = network("numbers")
    (x, labels) = feeds
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in (6, 6, 6, 6, 2, 2, 5, 6, 1):
            some = {x: np.ones((rows, 20), np.float32), labels: np.zeros(rows, np.int32)}
            for value in (True, False):
                result = session.run([logits, train], {**some, training: value})[0]
                assert result.shape == (rows, 4) and np.isfinite(result).all()


def test_a_callable_and_a_closed_session() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    y = tf.cond(p, lambda: x * 2.0, lambda: -x)
    session = tf.Session()
    run = session.make_callable(y, [p, x])
    for value in VALUES:
        np.testing.assert_array_equal(run(value, [1, 2]), [2, 4] if value else [-1, -2])
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        run(True, [1, 2])


def test_an_error_in_a_branch_says_where_it_was_built() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None])
    y = tf.cond(p, lambda: tf.check_numerics(x, "seen"), lambda: x)
    with tf.Session() as session:
        for value in [True, False] * 4:
            assert session.run(y, {p: value, x: [1.0]}) == [1.0]
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="seen") as raised:
                session.run(y, {p: True, x: [np.nan]})
            assert raised.value.op is not None and raised.value.op.type == "CheckNumerics"
            np.testing.assert_array_equal(session.run(y, {p: False, x: [np.nan]}), [np.nan])


def test_explain_shows_the_plan_for_the_values_that_are_fed() -> None:
    p, x = tf.placeholder(tf.bool, [], name="training"), tf.placeholder(tf.float32, [3])
    y = tf.cond(p, lambda: tf.exp(x) + 1.0, lambda: -x)
    with tf.Session() as session:
        known = session.explain(y, {p: False, x: [1, 2, 3]})
        assert "training -> False" in str(known) and "if " not in known.source
        assert "if " in session.explain(y, [p, x]).source
        assert known.player() is not None


def test_only_so_many_combinations_have_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs with others are served by the plan with branches."""
    monkeypatch.setattr(specialized_plans, "_MOST_FORMS", 2)
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [2])
    y = tf.cond(p, lambda: x * 2.0, lambda: tf.exp(x)) + tf.cond(q, lambda: x, lambda: -x)

    def run(*combinations: tuple[bool, bool]) -> Any:
        for a, b in combinations * (RUNS_BEFORE_REWRITING + 1):
            got = session.run(y, {p: a, q: b, x: [0.0, 0.0]})
            np.testing.assert_array_equal(got, [0.0 if a else 1.0] * 2)
        (plan,) = plans(session)
        return plan.forms

    with tf.Session() as session:
        forms = run((True, True), (True, False))
        assert len(forms._plans) == 2
        assert run((False, True), (False, False)) is None
        assert len(forms._plans) == 2


def test_on_a_gpu_conditionals_stay() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    y = tf.cond(p, lambda: tf.exp(x) + 1.0, lambda: tf.tanh(x) - 1.0)
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            session.run(y, {p: True, x: [1.0, 2.0]})
        plan = plans(session)[-1]
        options = plan._options
        assert specialized_plans.Forms.of(plan, options) is not None
        session.has_gpu = True
        try:
            assert specialized_plans.Forms.of(plan, options) is None
        finally:
            session.has_gpu = False
