"""Rewrites: the graph that they make, and the value that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.registry import get_op
from dataflow.runtime.plan import Plan
from tests.rewrites.rewritten import rewritten


def types(plan: Plan) -> list[str]:
    """The op types that the rewritten plan still computes."""
    skip = {"Placeholder", "Const", "Identity"}
    return sorted({op.type for op in plan.generated.line_ops.values()} - skip)


def check(fetch: Any, feeds: dict[Any, Any], rule: str) -> Plan:
    """The rewritten plan gives what the plain one gives, and its journal names the rule."""
    with tf.Session() as s:
        plain = s.run(fetch, feeds)
        plan = rewritten(s, fetch, list(feeds))
        result = plan.run(feeds.values())
    np.testing.assert_array_equal(result, plain)
    assert np.asarray(result).dtype == np.asarray(plain).dtype
    assert np.shape(result) == np.shape(plain)
    assert rule in [h.rule for h in plan.journal], plan.journal
    return plan


X = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)


def test_times_one_and_divided_by_one() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    for y, rule in ((x * 1.0, "times_one"), (x / 1.0, "divided_by_one")):
        assert types(check(tf.tanh(y), {x: X}, rule)) == ["Tanh"]


def test_one_times_keeps_its_broadcast() -> None:
    x = tf.placeholder(tf.float32, [2])
    wide = x * tf.ones([3, 2])
    with tf.Session() as s:
        plan = rewritten(s, wide, [x])
        assert plan.run([[1, 2]]).shape == (3, 2)
    assert "times_one" not in [h.rule for h in plan.journal]


def test_zero_is_not_dropped_from_float_sums() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = x + 0.0
    with tf.Session() as s:
        value = rewritten(s, y, [x]).run([np.array([-0.0, 1], np.float32)])
    assert not np.signbit(value[0])


def test_zero_is_dropped_from_whole_numbers() -> None:
    x = tf.placeholder(tf.int32, [2])
    assert types(check((x + 0) * 2, {x: [3, 4]}, "plus_zero_integer")) == ["Mul"]


def test_whole_numbers_divided_by_one() -> None:
    x = tf.placeholder(tf.int32, [3])
    value = np.array([-7, 0, 7], np.int32)
    assert types(check((x // 1) * 2, {x: value}, "divided_by_one_integer")) == ["Mul"]
    y = tf.placeholder(tf.float32, [1])
    with tf.Session() as s:
        plan = rewritten(s, y // 1.0, [y])
        assert plan.run([[1.5]]) == [1.0]


def test_minus_zero_is_taken_off() -> None:
    x = tf.placeholder(tf.float32, [2])
    zeros = tf.constant([0.0, -0.0])
    with tf.Session() as s:
        for number in (zeros, tf.constant(-0.0)):
            plan = rewritten(s, x - number, [x])
            assert types(plan) == ["Sub"]
            assert np.signbit(plan.run([[-0.0, -0.0]]))[1] == np.False_


def test_infinite_complex_numbers_are_multiplied() -> None:
    x = tf.placeholder(tf.complex64, [1])
    with tf.Session() as s:
        for y in (x * 1.0, x / 1.0, x**1.0):
            plan = rewritten(s, y, [x])
            want = s.run(y, {x: [complex(1, np.inf)]})
            np.testing.assert_array_equal(plan.run([[complex(1, np.inf)]]), want)


def test_a_fed_exponent_is_not_fused() -> None:
    x, y = tf.placeholder(tf.float32, [200, 200]), tf.placeholder(tf.float32, [])
    value = np.random.default_rng(0).random((200, 200), dtype=np.float32)
    with tf.Session() as s:
        for exponent in (3.0, 2.5):
            plain = s.run(tf.tanh(tf.exp(x) ** y), {x: value, y: exponent})
            plan = rewritten(s, tf.tanh(tf.exp(x) ** y), [x, y])
            assert "Pow" in types(plan)
            np.testing.assert_array_equal(plan.run([value, exponent]), plain)


def test_the_sum_of_one_negative_zero() -> None:
    x, y = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [1])
    (gradient,) = tf.gradients(x + y, y, grad_ys=x)
    with tf.Session() as s:
        values = [s.run(gradient, {x: [[-0.0]], y: [1.0]}) for _ in range(4)]
    assert [np.signbit(v[0]) for v in values] == [True] * 4


def test_the_second_power_is_a_square_and_the_first_is_not() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    assert types(check(tf.tanh(x**2.0), {x: X}, "power_two")) == ["Square", "Tanh"]
    assert types(check(tf.tanh(x**1.0), {x: X}, "power_one")) == ["Tanh"]


def test_what_a_replaced_node_waits_for_still_happens_first() -> None:
    v = tf.Variable(1.0)
    x, two = tf.placeholder(tf.float32, [2, 2]), tf.constant(2.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        y = tf.pow(x, two)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, y, [x])
        assert types(plan) == ["AssignAdd", "Square"]
        plan.run([X])
        assert s.run(v) == 2


def test_powers_of_three_and_four() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    assert types(check(tf.tanh(x**3.0), {x: X}, "power_three_or_four")) == ["Mul", "Square", "Tanh"]
    assert types(check(tf.tanh(x**4.0), {x: X}, "power_three_or_four")) == ["Square", "Tanh"]


def test_log_of_one_plus_exp_stays_infinite_where_exp_is() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.log(1.0 + tf.exp(x))
    with tf.Session() as s:
        plan = rewritten(s, y, [x])
        assert types(plan) == ["AddV2", "Exp", "Log"]
        np.testing.assert_array_equal(plan.run([X * 1000]), [[np.inf, 0], [np.inf, np.inf]])


def test_transposes_cancel() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    plan = check(tf.tanh(tf.transpose(tf.transpose(x))), {x: X}, "transpose_of_transpose")
    assert types(plan) == ["Tanh"]


def test_transposes_become_flags_of_matmul() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    plan = check(tf.matmul(tf.transpose(x), x), {x: X}, "matmul_of_transpose")
    assert types(plan) == ["MatMul"]


def test_reshape_of_reshape() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    plan = check(tf.reshape(tf.reshape(x, [4]), [1, 4]), {x: X}, "reshape_of_reshape")
    assert len([op for op in plan.generated.line_ops.values() if op.type == "Reshape"]) == 1


@pytest.mark.parametrize("add", [tf.nn.bias_add, tf.add, lambda x, b: x + b])
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_a_bias_goes_behind_a_reshape(add: Any, dtype: Any) -> None:
    x, w = tf.placeholder(dtype, [None, 3]), tf.placeholder(dtype, [3, 5])
    b, rest = tf.placeholder(dtype, [5]), tf.placeholder(dtype, [None, 2, 5])
    y = tf.nn.relu(rest + tf.reshape(add(tf.matmul(x, w), b), [-1, 2, 5]))
    rng = np.random.default_rng(6)
    feeds = {
        t: rng.normal(size=[d or n for d in t.shape.as_list()]).astype(dtype.as_numpy_dtype)
        for t, n in ((x, 14), (w, 0), (b, 0), (rest, 7))
    }
    plan = check(y, feeds, "bias_after_reshape")
    order = [line.op.type for line in plan.generated.lines if line.op is not None]
    assert order[:2] == ["MatMul", "Reshape"]
    for gradient in tf.gradients(y, [x, w, b, rest]):
        with tf.Session() as s:
            plain = s.run(gradient, feeds)
            np.testing.assert_array_equal(
                rewritten(s, gradient, list(feeds)).run(feeds.values()), plain
            )


@pytest.mark.parametrize(("shape", "used"), [([-1, 3], False), ([-1, 1, 6], True)])
def test_a_bias_that_a_reshape_divides_or_others_use_stays(shape: list[int], used: bool) -> None:
    x, b = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [6])
    total = tf.matmul(x, tf.placeholder(tf.float32, [6, 6], "w")) + b
    y = tf.reduce_sum(tf.tanh(tf.reshape(total, shape)))
    with tf.Session() as s:
        plan = rewritten(s, y + tf.reduce_sum(tf.exp(total)) if used else y, [x, b])
    assert "bias_after_reshape" not in [h.rule for h in plan.journal]


def test_a_bias_stays_before_a_reshape_to_one_axis() -> None:
    """BiasAdd adds to rows: a policy with one output flattens what it adds to."""
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3, 1])
    b = tf.placeholder(tf.float32, [1])
    y = tf.tanh(tf.reshape(tf.nn.bias_add(tf.matmul(x, w), b), [1]))
    feeds = {
        x: np.ones((1, 3), np.float32),
        w: np.ones((3, 1), np.float32),
        b: np.ones(1, np.float32),
    }
    with tf.Session() as s:
        plan = rewritten(s, y, [x, w, b])
        assert plan.run(list(feeds.values())) == s.run(y, feeds)
    assert "bias_after_reshape" not in [h.rule for h in plan.journal]


def test_common_subexpressions() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    plan = check(tf.tanh(x) + tf.tanh(x), {x: X}, "common_subexpression")
    assert len([op for op in plan.generated.line_ops.values() if op.type == "Tanh"]) == 1


@pytest.mark.parametrize(
    ("first", "second", "once"),
    [
        (np.arange(16, dtype=np.float32), np.arange(16, dtype=np.float32), True),
        (np.arange(17, dtype=np.float32), np.arange(17, dtype=np.float32), False),  # not compared
        (np.arange(4, dtype=np.float32), np.arange(1, 5, dtype=np.float32), False),
        (np.zeros(2, np.float32), -np.zeros(2, np.float32), False),  # other bits
        ([b"a", b"bc"], [b"a", b"bc"], True),
        ([b"a", b"bc"], [b"ab", b"c"], False),
    ],
)
def test_equal_small_constants_are_the_same_value(first: Any, second: Any, once: bool) -> None:
    x = tf.placeholder(tf.string if isinstance(first, list) else tf.float32, [1])
    y = tf.concat([tf.concat([x, first], 0), tf.concat([x, second], 0)], 0)
    with tf.Session() as s:
        plan = rewritten(s, y, [x])
    computed = [op.type for op in plan.generated.line_ops.values()]
    assert computed.count("ConcatV2") == (2 if once else 3)


def test_nodes_that_wait_for_others_are_not_the_same() -> None:
    x, v = tf.placeholder(tf.float32, [2, 2]), tf.Variable(1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        late = tf.matmul(x, x)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, tf.matmul(x, x) + late, [x])
        np.testing.assert_array_equal(plan.run([X]), 2 * (X @ X))
        assert s.run(v) == 2.0
    assert [op.type for op in plan.generated.line_ops.values()].count("MatMul") == 2


def test_common_subexpressions_of_the_same_value() -> None:
    """`tf.nn.moments` stops gradients of the mean, which the gradient of the variance reads as it is."""
    x = tf.placeholder(tf.float32, [2, 2])
    mean = tf.reduce_mean(x, 1, keepdims=True)
    y = tf.exp(x - mean) / (x - tf.stop_gradient(mean))
    plan = check(y, {x: X}, "common_subexpression")
    assert sum(h.rule == "common_subexpression" for h in plan.journal) == 1


def test_a_fed_value_is_not_that_of_its_input() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    other = tf.stop_gradient(x)
    with tf.Session() as s:
        y = tf.tanh(x) - tf.tanh(other)
        np.testing.assert_array_equal(s.run(y, {x: X, other: X + 1}), np.tanh(X) - np.tanh(X + 1))


def test_random_ops_are_never_merged() -> None:
    a, b = tf.random_uniform([3], seed=1), tf.random_uniform([3], seed=1)
    d = a - b
    with tf.Session() as s:
        plan = rewritten(s, d, [])
        assert (
            len([op for op in plan.generated.line_ops.values() if op.type == "RandomUniform"]) == 2
        )


def test_constants_fold() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    c = tf.constant([1.0, 2.0]) * tf.constant(3.0) + 1.0
    plan = check(x * c, {x: X}, "fold")
    assert types(plan) == ["Mul"]


def test_folding_is_bounded() -> None:
    big = tf.zeros([1000, 1000]) + 1.0
    with tf.Session() as s:
        plan = rewritten(s, tf.reduce_sum(tf.fill([3000, 3000], 1.0)), [])
        assert all(
            getattr(v, "nbytes", 0) < 1_000_000
            for v in plan.generated.function.__globals__.values()
        )
    del big


def test_static_shapes_fold_without_values() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.reshape(tf.tanh(x), tf.shape(x)[::-1])
    plan = check(y, {x: X}, "fold")
    assert "Shape" not in types(plan)
    # As in graphs of others: `tf.shape` makes a constant of it.
    for op_type in ("Shape", "Size", "Rank"):
        assert types(check(get_op(op_type)(tf.tanh(x)), {x: X}, "fold")) == []


def test_the_shape_of_a_variable_that_has_got_another_is_not_folded() -> None:
    v = tf.Variable([1.0, 2.0])
    longer = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        plan = rewritten(session, get_op("Shape")(v._ref()), [])
        assert plan.run([]).tolist() == [2]
        session.run(longer.op)
        assert plan.run([]).tolist() == [3]


def test_fusion_makes_one_kernel() -> None:
    x = tf.placeholder(tf.float32, [None, 512])
    y = tf.nn.relu(x * 2.0 + 1.0) * tf.exp(-x)
    value = np.random.default_rng(0).standard_normal((300, 512)).astype(np.float32)
    plan = check(y, {x: value}, "fusion")
    assert types(plan) == ["_Fused"]
    assert "def block" in plan.journal[-1].source


@pytest.mark.parametrize("rows", [0, 1, 3, 700])
def test_fused_kernels_broadcast(rows: int) -> None:
    x = tf.placeholder(tf.float32, [None, 512])
    b = tf.placeholder(tf.float32, [512])
    column = tf.placeholder(tf.float32, [None, 1])
    y = tf.tanh(x + b) * 3.0 - column
    rng = np.random.default_rng(rows)
    feeds = {
        x: rng.standard_normal((rows, 512)).astype(np.float32),
        b: rng.standard_normal(512).astype(np.float32),
        column: rng.standard_normal((rows, 1)).astype(np.float32),
    }
    check(y, feeds, "fusion")


@pytest.mark.parametrize("rows", [1, 700])
@pytest.mark.parametrize("reduce", ["reduce_sum", "reduce_mean"])
def test_a_reduction_is_made_of_a_fused_chain(rows: int, reduce: str) -> None:
    x = tf.placeholder(tf.float32, [None, 512])
    y = getattr(tf, reduce)(tf.square(x - 1.0) / 2.0)
    value = np.random.default_rng(0).standard_normal((rows, 512)).astype(np.float32)
    plan = check(y, {x: value}, "fusion")
    assert types(plan) == ["Sum" if reduce == "reduce_sum" else "Mean", "_Fused"]


def test_fused_kernels_treat_nan_and_infinity_as_the_plain_ones() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.where(tf.greater(x, 0.0), x, -x) + tf.nn.relu(x) - tf.sqrt(x)
    value = np.tile(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1], np.float32), 20_000)
    with tf.Session() as s:
        plain = s.run(y, {x: value})
        np.testing.assert_array_equal(rewritten(s, y, [x]).run([value]), plain)


def test_what_is_fetched_or_fed_stays() -> None:
    x = tf.placeholder(tf.float32, [None, 512])
    a = x * 2.0
    b = a + 1.0
    c = tf.tanh(b)
    value = np.ones((200, 512), np.float32)
    with tf.Session() as s:
        plan = rewritten(s, [b, c], [x])
        fetched, last = plan.run([value])
        assert fetched[0, 0] == 3
        assert last[0, 0] == np.float32(np.tanh(np.float32(3)))
        assert rewritten(s, c, [b]).run([value])[0, 0] == np.float32(np.tanh(np.float32(1)))


def test_errors_name_the_users_node() -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.placeholder(tf.float32, name="y")
    z = tf.tanh(tf.add(x, y, name="sum"))
    with tf.Session() as s:
        plan = rewritten(s, z, [x, y])
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            plan.run([np.zeros(3), np.zeros(4)])
    assert e.value.op.graph is z.graph
    assert "test_rewrites.py" in str(e.value)


def test_plans_are_rewritten_when_they_run_often() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.tanh(x * 1.0)
    with tf.Session() as s:
        values = [s.run(y, {x: X}) for _ in range(5)]
        (plan,) = s._plans.values()
        assert plan.journal
    for value in values:
        np.testing.assert_array_equal(value, values[0])


def test_switches() -> None:
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.tanh(x * 1.0)
    with tf.Session(config=config) as s:
        for _ in range(5):
            s.run(y, {x: X})
        (plan,) = s._plans.values()
        assert not plan.journal
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.arithmetic_optimization = 2  # RewriterConfig.OFF
    with tf.Session(config=config) as s:
        assert "times_one" not in [h.rule for h in rewritten(s, y, [x]).journal]


def test_variables_keep_their_order() -> None:
    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([v.assign_add(x)]):
        after = v.read_value() * 1.0
    with tf.Session() as s:
        s.run(v.initializer)
        assert [s.run(after, {x: 1}) for _ in range(6)] == [2, 3, 4, 5, 6, 7]


def test_values_that_nobody_reads_are_not_waited_for() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    w = tf.Variable(np.eye(2, dtype=np.float32))
    calls: list[int] = []
    seen = tf.py_func(lambda v: calls.append(1) or v, [x], tf.float32)
    with tf.control_dependencies([tf.tanh(tf.exp(seen)), tf.sin(x)]):
        y = tf.identity(tf.matmul(x, w))
    with tf.Session() as s:
        s.run(w.initializer)
        plan = rewritten(s, y, [x])
        np.testing.assert_array_equal(plan.run([X]), X)
        ran = {op.type for op in plan.generated.line_ops.values()}
    assert not ran & {"Tanh", "Exp", "Sin"}
    assert calls == [1]  # what has effects is still waited for


def test_the_gradient_of_a_fed_picture_is_not_computed() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    f = tf.Variable(tf.ones([3, 3, 1, 2]))
    loss = tf.reduce_sum(tf.nn.conv2d(x, f, [1, 1, 1, 1], "SAME"))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        plan = rewritten(s, train, [x])
        plan.run([np.ones((1, 8, 8, 1))])
        ran = {op.type for op in plan.generated.line_ops.values()}
    assert "Conv2DBackpropFilter" in ran
    assert "Conv2DBackpropInput" not in ran


def test_branches_keep_their_nodes() -> None:
    calls: list[int] = []
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(
        p, lambda: tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32), lambda: 2.0
    )
    with tf.Session() as s:
        plan = rewritten(s, y, [p])
        assert plan.run([False]) == 2 and not calls
        assert plan.run([True]) == 1 and calls == [1]


def test_what_a_rule_looks_through_may_wait_for_something() -> None:
    v = tf.Variable([[1.0, 2.0]])
    x = tf.placeholder(tf.float32, [1, 2])
    with tf.control_dependencies([tf.assign_add(v, x)]):
        inner = tf.transpose(x)
        negative = -x
        power = tf.exp(x)
        narrow = tf.reshape(x, [2])
    results = [
        tf.transpose(inner) * 2.0,
        -negative,
        tf.log(1.0 + power),
        tf.reshape(narrow, [2, 1]),
    ]
    for result in results:
        with tf.Session() as s:
            s.run(v.initializer)
            plan = rewritten(s, result, [x])
            plan.run([[[1.0, 1.0]]])
            np.testing.assert_array_equal(s.run(v), [[2.0, 3.0]])


def test_a_static_shape_keeps_the_effects_behind_its_tensor() -> None:
    v = tf.Variable([1.0, 2.0])
    queue = tf.FIFOQueue(3, tf.float32, [[4]])
    shape, size = get_op("Shape"), get_op("Size")  # tf.shape answers when the graph is built
    shapes = [shape(tf.assign_add(v, [1.0, 1.0]) * 1.0), size(tf.tanh(queue.dequeue()))]
    with tf.Session() as s:
        s.run(v.initializer)
        for _ in range(2):
            s.run(queue.enqueue(np.zeros(4)))
        plan = rewritten(s, [*shapes, shapes[0] + 1], [])
        assert [np.asarray(r).tolist() for r in plan.run([])] == [[2], 4, [3]]
        np.testing.assert_array_equal(s.run(v), [2.0, 3.0])
        assert s.run(queue.size()) == 1


def test_a_fed_placeholder_can_be_waited_for() -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([x]):
        y = tf.constant([3.0, 4.0]) * 2.0
    with tf.Session() as s:
        assert rewritten(s, [y, x.op], [x]).run([[1.0, 2.0]])[0].tolist() == [6.0, 8.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed"):
            rewritten(s, y, []).run([])


def test_a_value_computed_from_a_variable_stays_when_the_variable_changes() -> None:
    v = tf.Variable(2.0)
    seen = [
        v * 1.0,
        tf.identity(v.read_value()),
        tf.negative(tf.negative(v.read_value())),
        tf.cast(v, tf.float32),
    ]
    with tf.control_dependencies(seen):
        change = tf.assign(v, 10.0)
    with tf.control_dependencies([change]):
        later = [t + 0.5 for t in seen]
    with tf.Session() as s:
        s.run(v.initializer)
        plain = s.run(later)
        s.run(v.initializer)
        assert rewritten(s, later, []).run([]) == plain
        assert plain[:3] == [2.5, 2.5, 2.5]


@pytest.mark.parametrize("rows", [3, 400])
def test_errors_in_fused_kernels_name_the_users_node_and_its_inputs(rows: int) -> None:
    x = tf.placeholder(tf.float32, [None, 512], name="x")
    y = tf.placeholder(tf.float32, [None, 512], name="y")
    scaled = tf.multiply(x, 2.0, name="scaled")
    total = tf.add(tf.exp(scaled), y, name="total")
    z = tf.sqrt(total, name="root")
    with tf.Session() as s:
        plan = rewritten(s, z, [x, y])
        assert "_Fused" in types(plan)
        plan.run([np.zeros((rows, 512)), np.zeros((rows, 512))])
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            plan.run([np.zeros((rows, 512)), np.zeros((rows + 1, 512))])
    assert e.value.op is total.op
    message = str(e.value)
    assert "'total'" in message and "test_rewrites.py" in message
    assert f"'Exp:0': float32, now of shape ({rows}, 512)" in message
    assert f"'y:0': float32, now of shape ({rows + 1}, 512)" in message


def test_a_chain_that_cannot_be_compiled_runs_unfused_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dataflow.rewrites import fusion, multi_output_fusion

    def fail(program: Any) -> Any:
        raise RuntimeError("no compiler today")

    monkeypatch.setattr(fusion, "compile_program", fail)
    monkeypatch.setattr(fusion, "_refused", set())
    monkeypatch.setattr(multi_output_fusion, "run", lambda *_: iter(()))
    x = tf.placeholder(tf.float32, [None, 512])
    y = tf.tanh(x * 2.0 + 1.0)
    value = np.ones((300, 512), np.float32)
    with tf.Session() as s:
        with pytest.warns(UserWarning, match="no compiler today") as warned:
            plans = [rewritten(s, y, [x]) for _ in range(3)]
        assert len(warned) == 1
        for plan in plans:
            np.testing.assert_allclose(plan.run([value]), np.tanh(3.0), rtol=1e-6)
            assert types(plan) == ["AddV2", "Mul", "Tanh"]


@pytest.mark.parametrize(("taps", "stride"), [(2, 2), (2, 3), (3, 2)])
def test_a_rectifier_takes_its_gradient_after_pooling(taps: int, stride: int) -> None:
    x = tf.placeholder(tf.float32, [2, 6, 7, 3])
    h = tf.nn.relu(x)
    y = tf.nn.max_pool(h, [1, taps, taps, 1], [1, stride, stride, 1], "SAME")
    (gradient,) = tf.gradients(tf.sin(y), x)
    value = np.random.default_rng(0).standard_normal((2, 6, 7, 3)).astype(np.float32)
    if taps <= stride:
        check(gradient, {x: value}, "relu_gradient_before_pooling")
        return
    with tf.Session() as s:  # an element may get several gradients, and 0 the sign of their sum
        plan = rewritten(s, gradient, [x])
    assert "relu_gradient_before_pooling" not in [h.rule for h in plan.journal]


def test_a_rectifier_of_something_else_keeps_its_gradient() -> None:
    x = tf.placeholder(tf.float32, [1, 4, 4, 1])
    h = tf.nn.relu(x)
    y = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    (gradient,) = tf.gradients(y + tf.reduce_sum(h * h), x)  # h has other uses
    value = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 4, 4, 1)
    with tf.Session() as s:
        plain = s.run(gradient, {x: value})
        plan = rewritten(s, gradient, [x])
        np.testing.assert_allclose(plan.run([value]), plain, rtol=1e-6)
    assert "relu_gradient_before_pooling" not in [h.rule for h in plan.journal]


@pytest.mark.parametrize("edge", ["none", "into", "out_of"])
def test_a_pooling_gradient_that_waits_or_is_waited_for_stays_where_it_is(edge: str) -> None:
    x = tf.placeholder(tf.float32, [1, 4, 4, 1])
    y = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    ones = tf.ones([1, 2, 2, 1])
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.initializer] if edge == "into" else []):
        pooled = tf.raw_ops.MaxPoolGrad(
            orig_input=x,
            orig_output=y,
            grad=ones,
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="SAME",
        )
    gradient = tf.raw_ops.ReluGrad(gradients=pooled, features=x)
    with tf.control_dependencies([pooled] if edge == "out_of" else []):
        assigned = tf.assign_add(v, 1.0)
    with tf.Session() as s:
        plan = rewritten(s, [gradient, assigned], [x])
    rules = [h.rule for h in plan.journal]
    assert ("relu_gradient_before_pooling" in rules) is (edge == "none")


def test_a_power_by_a_vector_keeps_the_shape_that_the_vector_gives() -> None:
    x = tf.placeholder(tf.float32, [])
    for exponent, rule in ((3.0, "power_three_or_four"), (4.0, "power_three_or_four")):
        check(tf.tanh(tf.pow(x, exponent)), {x: 0.5}, rule)
        power = tf.tanh(tf.pow(x, [exponent, exponent]))
        with tf.Session() as s:
            plan = rewritten(s, power, [x])
            assert np.shape(plan.run([np.float32(0.5)])) == (2,)
            assert rule not in [h.rule for h in plan.journal]
