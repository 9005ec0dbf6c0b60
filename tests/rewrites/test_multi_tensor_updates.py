"""Updates of several variables by one node: the same numbers, in an order that changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from dataflow.graph.registry import all_ops
from dataflow.kernels import optimizer_updates, row_updates
from dataflow.ops.optimizer_updates import apply_gradient_descent, sparse_apply_adagrad
from tests.rewrites.rewritten import rewritten, types

SIZES = [(3, 5), (7,), (), (40, 50)]
OPTIMIZERS = {
    "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "proximal": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "dual averaging": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.create_global_step()),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates of a few elements are shared by threads."""
    monkeypatch.setattr(optimizer_updates, "_NATIVE_SHARED_ELEMENTS", 1000)
    monkeypatch.setattr(optimizer_updates, "_NATIVE_BLOCK", 300)


def train(optimizer: str, dtype: Any, rewrites: bool) -> tuple[list[Any], list[str]]:
    """The variables after three steps, and the types of the step's nodes."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = not rewrites
    rng = np.random.default_rng(1)
    with tf.Graph().as_default(), tf.Session(config=config) as s:
        variables = [tf.Variable(rng.normal(size=size).astype(dtype)) for size in SIZES]
        factors = [rng.normal(size=size).astype(dtype) for size in SIZES]
        loss = tf.add_n(
            [tf.reduce_sum(tf.sin(v) * f) for v, f in zip(variables, factors, strict=True)]
        )
        step = OPTIMIZERS[optimizer]().minimize(loss)
        s.run(tf.global_variables_initializer())
        plan = rewritten(s, [step], []) if rewrites else None
        for _ in range(3):
            s.run(step) if plan is None else plan.run([])
        return s.run(variables), [] if plan is None else types(plan)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_updates_by_one_rule_are_one_node(either: None, optimizer: str, dtype: Any) -> None:
    got, nodes = train(optimizer, dtype, rewrites=True)
    assert nodes.count("_UpdateAll") == 1
    assert not any(node.startswith("Apply") for node in nodes)
    wanted, _ = train(optimizer, dtype, rewrites=False)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def apply(v: Any, gradient: Any, rate: Any = 0.5) -> Any:
    return apply_gradient_descent(v, rate, gradient)


def both(build: Any, feeds: Any = None) -> tuple[list[str], list[Any], list[Any]]:
    """The types of the nodes, and the variables after a rewritten run and after a plain one.

    ``build()`` gives variables and what to run.
    """
    results = []
    nodes: list[str] = []
    for rewrites in (True, False):
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = not rewrites
        with tf.Graph().as_default(), tf.Session(config=config) as s:
            variables, step = build()
            s.run(tf.global_variables_initializer())
            if rewrites:
                plan = rewritten(s, step, [])
                nodes = types(plan)
                plan.run([])
            else:
                s.run(step)
            results.append(s.run(variables))
    return nodes, *results


def test_an_update_that_waits_for_another_stays_apart() -> None:
    def build() -> Any:
        a, b, c = (tf.Variable(np.full(3, i, np.float32)) for i in (1, 2, 4))
        first = apply(a, np.ones(3, np.float32))
        with tf.control_dependencies([first]):
            second = apply(b, tf.identity(a) * 3)
        third = apply(c, np.ones(3, np.float32))
        return [a, b, c], tf.group(second, third)

    nodes, got, wanted = both(build)
    assert nodes.count("_UpdateAll") == 1 and nodes.count("ApplyGradientDescent") == 1
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(got[1], 2 - 0.5 * 3 * 0.5)


def test_two_groups_that_wait_for_each_other_both_ways() -> None:
    def build() -> Any:
        a, b, c, d = (tf.Variable(np.full(2, i, np.float32)) for i in (1, 2, 3, 4))
        ones = np.ones(2, np.float32)
        first = apply(a, ones)
        with tf.control_dependencies([first]):
            second = apply(b, ones, 0.25)
        third = apply(c, ones, 0.25)
        with tf.control_dependencies([third]):
            fourth = apply(d, ones)
        return [a, b, c, d], tf.group(second, fourth)

    _, got, wanted = both(build)
    np.testing.assert_array_equal(got, wanted)


def test_updates_before_and_after_a_loop_stay_apart() -> None:
    """The loop runs as a whole: also what the second update takes from it waits for the first."""

    def build() -> Any:
        a, b, c = (tf.Variable(np.full(3, i, np.float32)) for i in (1, 2, 4))
        with tf.control_dependencies([apply(a, np.ones(3, np.float32))]):
            start = tf.identity(a) * 3
        _, other, total = tf.while_loop(
            lambda i, x, y: i < 3,
            lambda i, x, y: (i + 1, x * 2, y + 1),
            [0, start, tf.zeros([3])],
        )
        return [a, b, c], tf.group(apply(b, total), apply(c, total * 2), other)

    nodes, got, wanted = both(build)
    assert nodes.count("_UpdateAll") == 1 and nodes.count("ApplyGradientDescent") == 1
    np.testing.assert_array_equal(got, wanted)


def test_a_gradient_that_is_another_updated_variable_is_read_in_its_turn() -> None:
    def build() -> Any:
        a, b = (tf.Variable(np.full(3, i, np.float32)) for i in (1, 2))
        first = apply(a, b)
        with tf.control_dependencies([first]):
            last = apply(b, a)
        return [a, b], last.op

    nodes, got, wanted = both(build)
    assert "_UpdateAll" not in nodes
    np.testing.assert_array_equal(got, wanted)


def test_updates_with_rates_of_their_own_are_groups_of_their_own() -> None:
    def build() -> Any:
        vs = [tf.Variable(np.full(3, i, np.float32)) for i in range(5)]
        ones = np.ones(3, np.float32)
        slow, quick = tf.constant(0.1), tf.constant(0.9)
        steps = [apply(v, ones, quick if i % 2 else slow) for i, v in enumerate(vs)]
        return vs, tf.group(*steps)

    nodes, got, wanted = both(build)
    assert nodes.count("_UpdateAll") == 2
    np.testing.assert_array_equal(got, wanted)


def test_an_update_that_is_alone_of_its_kind_does_not_hold_up_the_others() -> None:
    def build() -> Any:
        vs = [tf.Variable(np.full(3, i, np.float32)) for i in range(3)]
        ones = np.ones(3, np.float32)
        slow, quick = tf.constant(0.1), tf.constant(0.9)
        steps = [apply(v, ones, quick if i else slow) for i, v in enumerate(vs)]
        return vs, tf.group(*steps)

    nodes, got, wanted = both(build)
    assert nodes.count("_UpdateAll") == nodes.count("ApplyGradientDescent") == 1
    np.testing.assert_array_equal(got, wanted)


def test_an_update_whose_variable_somebody_looks_at_stays_apart() -> None:
    def build() -> Any:
        a, b = (tf.Variable(np.full(3, i, np.float32)) for i in (1, 2))
        ones = np.ones(3, np.float32)
        seen = tf.assign_add(b, apply(a, ones) * 2)
        return [a, b], tf.group(seen, apply(tf.Variable(ones), ones))

    nodes, got, wanted = both(build)
    assert "_UpdateAll" not in nodes
    np.testing.assert_array_equal(got, wanted)


def test_an_error_names_the_variable_s_own_node_and_changes_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, None)
        a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0])
        step = tf.group(apply(a, tf.ones([2])), apply(b, x, 0.5))
        s.run(tf.global_variables_initializer())
        plan = rewritten(s, step, [x])
        assert "_UpdateAll" in types(plan)
        with pytest.raises(InvalidArgumentError, match=r"do not have the same shape") as caught:
            plan.run([np.ones(4, np.float32)])
        assert caught.value.op.type == "ApplyGradientDescent"
        assert caught.value.op.inputs[0].op is b.op
        assert "now of shape (4,)" in str(caught.value)
        np.testing.assert_array_equal(s.run(a), [1, 2])


def test_variables_without_elements_and_gradients_of_any_layout(either: None) -> None:
    def build() -> Any:
        vs = [tf.Variable(np.ones(size, np.float32)) for size in [(0, 4), (60, 50), (2, 3)]]
        turned = tf.transpose(tf.constant(np.arange(3000, dtype=np.float32).reshape(50, 60)))
        grads = [tf.zeros([0, 4]), turned, tf.ones([2, 3])]
        return vs, tf.group(*[apply(v, g) for v, g in zip(vs, grads, strict=True)])

    nodes, got, wanted = both(build)
    assert nodes.count("_UpdateAll") == 1
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_op_that_updates_is_known() -> None:
    assert set(optimizer_updates._DESCRIBED) == {
        t for t, op in all_ops().items() if op.follows_rule
    }


#: Tables of embeddings, their ids (some of them twice) and the dtypes of these.
TABLES = [((5, 3), [4, 0, 4], np.int64), ((9, 1), [2, 3, 1, 2], np.int32), ((2, 2), [], np.int64)]


def train_rows(optimizer: str, resource: bool, rewrites: bool) -> tuple[list[Any], list[str]]:
    """Tables of embeddings after three steps, and the types of the step's nodes."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = not rewrites
    rng = np.random.default_rng(1)
    with tf.Graph().as_default(), tf.Session(config=config) as s:
        losses = []
        for i, (size, ids, dtype) in enumerate(TABLES):
            start = tf.constant_initializer(rng.normal(size=size).astype(np.float32))
            table = tf.get_variable(f"t{i}", size, initializer=start, use_resource=resource)
            rows = tf.nn.embedding_lookup(table, np.array(ids, dtype))
            losses.append(tf.reduce_sum(tf.sin(rows)))
        step = OPTIMIZERS[optimizer]().minimize(tf.add_n(losses))
        s.run(tf.global_variables_initializer())
        plan = rewritten(s, [step], []) if rewrites else None
        for _ in range(3):
            s.run(step) if plan is None else plan.run([])
        return s.run(tf.global_variables()), [] if plan is None else types(plan)


@pytest.mark.parametrize("shared", [1 << 18, 0])
@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("optimizer", ["adagrad", "ftrl", "momentum", "rmsprop"])
def test_updates_of_rows_are_one_node(
    either: None, optimizer: str, resource: bool, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_updates, "_SHARED_ELEMENTS", shared)
    got, nodes = train_rows(optimizer, resource, rewrites=True)
    assert nodes.count("_UpdateAll") == 1
    assert not any("SparseApply" in node for node in nodes)
    wanted, _ = train_rows(optimizer, resource, rewrites=False)
    for a, b in zip(got, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1, 9], "Index 9 at offset 1"),
        ([1, 3], "Index 3 at offset 1"),
        ([-1, 2], "Index -1 at offset 0"),
        ([1], "must be the same size"),
    ],
)
def test_an_error_of_rows_names_the_variable_s_own_node(wrong: list[int], message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as s:
        at = tf.placeholder(tf.int32, [None])
        tables = [tf.Variable(tf.ones([n, 1])) for n in (20, 3)]
        updates = [
            sparse_apply_adagrad(
                table, tf.Variable(tf.ones(table.shape)), 0.5, tf.ones([2, 1]), ids
            )
            for table, ids in zip(tables, (tf.constant([9, 1]), at), strict=True)
        ]
        s.run(tf.global_variables_initializer())
        plan = rewritten(s, tf.group(*updates), [at])
        assert "_UpdateAll" in types(plan)
        with pytest.raises(InvalidArgumentError, match=message) as caught:
            plan.run([np.array(wrong, np.int32)])
        assert caught.value.op.type == "SparseApplyAdagrad"
        assert caught.value.op.inputs[0].op is tables[1].op
        np.testing.assert_array_equal(s.run(tables[1]), np.ones((3, 1)))
