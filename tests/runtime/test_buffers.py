"""Buffers that are taken over: where it happens, and that nobody can see it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.operation import Operation
from dataflow.graph.registry import all_ops, get_op
from dataflow.kernels.jit import elementwise
from dataflow.rewrites import fusion
from dataflow.runtime import buffers
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from tests.samples import all_samples
from tests.samples.base import Sample


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(buffers, "_WORTHWHILE_ELEMENTS", 1)
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def unfused() -> Any:
    """A configuration without fusion, so that each op is a line of its own."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = 2  # OFF
    return config


def rewritten(session: Any, fetches: Any, feeds: list[Any]) -> Plan:
    plan = Plan(session, FetchPlan(session.graph, fetches, session), feeds)
    plan.rewrite()
    return plan


def check(fetches: Any, feeds: dict[Any, Any], config: Any) -> Plan:
    """What the rewritten plan gives is what the plain one gives, and feeds stay as they are."""
    kept = [np.array(v) for v in feeds.values()]
    with tf.Session(config=config) as s:
        s.run(tf.global_variables_initializer())
        plain = Plan(s, FetchPlan(s.graph, fetches, s), list(feeds)).run(feeds.values())
        plan = rewritten(s, fetches, list(feeds))
        for _ in range(2):
            got = plan.run(feeds.values())
            for want, have in zip(plain, got, strict=True):
                np.testing.assert_array_equal(have, want)
    for before, after in zip(kept, feeds.values(), strict=True):
        np.testing.assert_array_equal(after, before)
    return plan


A = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def test_a_chain_is_computed_in_one_buffer(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.nn.relu(tf.exp(x * 2.0) - x)
    plan = check([y], {x: A}, unfused)
    assert len(plan.generated.reused) == 3


def test_either_operand_may_be_taken_over(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    kept = tf.exp(x)
    plan = check([kept, kept - tf.sin(x), kept / tf.cos(x)], {x: A}, unfused)
    assert len(plan.generated.reused) == 2


def test_a_view_of_what_dies_is_taken_over(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.exp(tf.reshape(tf.transpose(tf.sin(x)), [2, 6]))
    plan = check([y], {x: A}, unfused)
    assert len(plan.generated.reused) == 1


def test_a_view_of_what_lives_or_belongs_to_others_is_not_taken_over(unfused: Any) -> None:
    x, v = tf.placeholder(tf.float32, [3, 4]), tf.Variable(A)
    kept = tf.sin(x)
    two = tf.split(tf.cos(x), 2, 1)
    twice = tf.reshape(kept, [4, 3])
    plan = check(
        [
            *(tf.exp(tf.reshape(t, [2, 6])) for t in (x, v, kept)),
            *(tf.exp(t) for t in two),
            tf.exp(twice),
            tf.tan(twice),
            kept,
        ],
        {x: A},
        unfused,
    )
    assert not plan.generated.reused


def test_gradients_of_activations(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    W = tf.Variable(np.eye(4, dtype=np.float32) - 0.3)
    h = tf.nn.relu(tf.matmul(x, W))
    h2 = tf.nn.relu(tf.matmul(h, W))
    (gradient,) = tf.gradients(tf.reduce_sum(tf.square(h2)), [W.value()], stop_gradients=[])
    plan = check([gradient], {x: A}, unfused)
    reused = plan.generated.reused
    lines = {line.sets[0]: line.op.type for line in plan.generated.lines if line.sets}
    assert "ReluGrad" in {lines[local] for local in reused}


def test_explain_says_so(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.exp(tf.sin(x, name="inner"), name="outer")
    with tf.Session(config=unfused) as s:
        explanation = s.explain(y, [x])
    (outer,) = [v for v in explanation.lifetimes if v.tensor == "outer:0"]
    (inner,) = [v for v in explanation.lifetimes if v.tensor == "inner:0"]
    assert outer.buffer == f"the buffer of {inner.local}, which is dead by then"
    assert "which is dead by then" in repr(explanation)


def test_the_memory_optimizer_is_its_switch(unfused: Any) -> None:
    unfused.graph_options.rewrite_options.memory_optimization = 1  # NO_MEM_OPT
    x = tf.placeholder(tf.float32, [None, 4])
    assert not check([tf.exp(tf.sin(x))], {x: A}, unfused).generated.reused


def test_shapes_that_may_differ_are_left_alone(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None, 4])
    plan = check([tf.exp(x) + tf.sin(y)], {x: A[:1], y: A}, unfused)
    assert not plan.generated.reused
    plan = check([tf.exp(x) * tf.constant([1.0, 2, 3, 4])], {x: A}, unfused)
    assert plan.generated.reused
    plan = check([tf.exp(x) * tf.constant(np.ones((3, 4), np.float32))], {x: A[:1]}, unfused)
    assert not plan.generated.reused


def test_a_batch_of_unknown_size_is_known_to_be_the_same(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.matmul(x, tf.constant(np.ones((4, 4), np.float32))) * tf.exp(x)
    assert check([y], {x: A}, unfused).generated.reused


@pytest.mark.parametrize(
    "view",
    [
        lambda t: tf.reshape(t, [4, 3]),
        lambda t: tf.transpose(t),
        lambda t: tf.expand_dims(t, 0),
        lambda t: t[1:],
        lambda t: tf.split(t, 2, 1)[1],
        lambda t: tf.unstack(t)[2],
        lambda t: tf.squeeze(tf.expand_dims(t, 0)),
        lambda t: tf.identity(t),
        lambda t: tf.broadcast_to(t, [2, 3, 4]),
        lambda t: tf.py_func(lambda v: v, [t], tf.float32),
        lambda t: tf.tuple([t, t * 2.0])[0],
        lambda t: tf.stop_gradient(t),
        lambda t: tf.diag_part(tf.reshape(t, [3, 4])[:3, :3]),
    ],
)
def test_views_of_a_value_are_left_alone(view: Any, unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    t = tf.exp(x)
    seen = view(t)
    with tf.control_dependencies([seen]):
        after = tf.sqrt(t)
    with tf.control_dependencies([after]):
        late = tf.identity(seen) * 1.5
    check([after, late], {x: A}, unfused)
    check([late, seen, after], {x: A}, unfused)


def test_feeds_constants_and_variables_are_left_alone(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    c = tf.constant(A)
    v = tf.Variable(A)
    fetches = [tf.exp(x), tf.exp(c), tf.exp(v), tf.exp(v.value()), tf.nn.relu(tf.identity(x))]
    plan = check(fetches, {x: A.copy()}, unfused)
    assert not plan.generated.reused
    inner = tf.sin(x)
    assert not check([tf.exp(inner)], {inner: A.copy()}, unfused).generated.reused


def test_variables_that_are_read_late(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    v = tf.Variable(np.zeros((3, 4), np.float32))
    t = tf.exp(x)
    assigned = tf.assign(v, t)
    with tf.control_dependencies([assigned]):
        changed = tf.sqrt(t)  # t dies here; the variable must have its own copy
    with tf.control_dependencies([changed]):
        late = v.read_value()
    check([changed, late], {x: A}, unfused)


def test_queues_and_tensor_arrays_keep_what_they_were_given(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    queue = tf.FIFOQueue(10, tf.float32, [[3, 4]])
    t = tf.exp(x)
    with tf.control_dependencies([queue.enqueue(t)]):
        after = tf.sqrt(t)
    with tf.control_dependencies([after]):
        out = queue.dequeue()
    check([after, out], {x: A}, unfused)
    array = tf.TensorArray(tf.float32, 1)
    u = tf.sin(x)
    array = array.write(0, u)
    with tf.control_dependencies([array.flow]):
        after = tf.abs(u)
    with tf.control_dependencies([after]):
        out = array.read(0)
    check([after, out], {x: A}, unfused)


def test_sums_of_several(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    kept = tf.cos(x)
    plan = check(
        [kept, tf.add_n([tf.exp(x), kept, tf.sin(x)]), tf.add_n([kept, tf.tan(x)])],
        {x: A},
        unfused,
    )
    assert len(plan.generated.reused) == 2
    # The order of a sum of three is kept, so that its rounding is.
    plan = check([kept, tf.add_n([kept, tf.exp(x), tf.sin(x)])], {x: A}, unfused)
    assert not plan.generated.reused


def test_biases(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    b = tf.Variable([1.0, 2.0, 3.0, 4.0])
    assert check([tf.nn.bias_add(tf.exp(x), b)], {x: A}, unfused).generated.reused
    image = tf.exp(tf.reshape(x, [1, 4, 3, 1]))
    first = tf.nn.bias_add(image, b, data_format="NCHW")
    check([first], {x: A}, unfused)


def test_a_bias_along_another_axis_or_of_unknown_size_makes_a_new_array(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    b = tf.Variable([1.0, 2.0, 3.0, 4.0])
    square = tf.exp(tf.reshape(x, [-1, 4, 3, 4]))  # as many columns as channels
    images = np.linspace(-2, 2, 96, dtype=np.float32).reshape(-1, 4)
    first = tf.nn.bias_add(square, b, data_format="NCHW")
    assert not check([first], {x: images}, unfused).generated.reused
    fed = tf.placeholder(tf.float32, [None])
    feeds = {x: A, fed: np.ones(4, np.float32)}
    assert not check([tf.nn.bias_add(tf.exp(x), fed)], feeds, unfused).generated.reused


def test_fused_kernels_write_over_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "_WORTHWHILE_ELEMENTS", 1)
    x = tf.placeholder(tf.float32, [None, 512])
    W = tf.Variable(np.eye(512, dtype=np.float32))
    product = tf.matmul(x, W)
    y = tf.nn.relu(product + tf.Variable(np.ones(512, np.float32))) * 3.0
    value = np.random.default_rng(0).standard_normal((300, 512)).astype(np.float32)
    plan = check([y], {x: value}, None)
    assert list(plan.generated.reused.values()) == [plan.generated.values[_fused_input(plan)]]
    kept = check([y, product], {x: value}, None)
    assert not kept.generated.reused


def test_a_fused_kernel_that_reads_after_it_writes_keeps_its_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last step, y (1 - y) dy, takes three statements, and the second reads y again."""
    monkeypatch.setattr(fusion, "_WORTHWHILE_ELEMENTS", 1)
    x = tf.placeholder(tf.float32, [None, 512])
    product = tf.matmul(x, tf.Variable(np.eye(512, dtype=np.float32)))
    y = get_op("SigmoidGrad")(product, tf.tanh(tf.abs(x) * 2.0))
    value = np.random.default_rng(0).standard_normal((300, 512)).astype(np.float32)
    plan = check([y], {x: value}, None)
    assert not plan.generated.reused


def _fused_input(plan: Plan) -> Any:
    (fused,) = [op for op in plan.compiled_ops if op.type == "_Fused"]
    return next(t for t in fused.inputs if t.op.type == "MatMul")


def test_a_variable_keeps_the_array_that_it_is_assigned(unfused: Any) -> None:
    v = tf.Variable(np.ones((300, 512), np.float32))
    w = tf.Variable(np.zeros((300, 512), np.float32))
    halved = v * 0.5
    feed = tf.placeholder(tf.float32, [300, 512])
    both = tf.group(tf.assign(v, halved), tf.assign(w, feed))
    value = np.full((300, 512), 7, np.float32)
    with tf.Session(config=unfused) as s:
        s.run(tf.global_variables_initializer())
        for _ in range(5):
            before = s.run(v)
            assert s.run(both, {feed: value}) is None
            np.testing.assert_array_equal(s.run(v), before / 2)
            (array,) = [r.array for _, r in s.resources.items("variable") if r.name == v.op.name]
            assert array.base is None
        (plan,) = [p for p in s._plans.values() if p.feeds]
        handed = [x.text for x in plan.generated.lines if x.text.startswith("o")]
        assert len(handed) == 1, "the fed array stays the caller's"
        value += 1
        np.testing.assert_array_equal(s.run(w), value - 1)
        for _ in range(5):
            kept, _ = s.run([halved, both], {feed: value})
            np.testing.assert_array_equal(kept, s.run(v))
            kept += 1  # the caller's own
            np.testing.assert_array_equal(kept - 1, s.run(v))


def test_what_a_caller_was_given_stays_his(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.exp(tf.sin(x))
    with tf.Session(config=unfused) as s:
        results = [s.run(y, {x: A * i}) for i in range(6)]
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.exp(np.sin(A * i)))


@pytest.mark.threads
def test_threads_of_one_session_do_not_see_each_other(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.nn.relu(tf.exp(x * 2.0) - x)
    problems: list[Any] = []

    def work(session: Any, i: int) -> None:
        value = A * i
        for _ in range(50):
            got = session.run(y, {x: value})
            if not np.array_equal(got, np.maximum(np.exp(value * 2) - value, 0)):
                problems.append(i)

    with tf.Session(config=unfused) as a, tf.Session(config=unfused) as b:
        threads = [threading.Thread(target=work, args=([a, b][i % 2], i)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert not problems


def test_errors_in_place_name_the_node(unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [4])
    z = tf.add_n([tf.exp(x), tf.placeholder_with_default(tf.reshape(tf.sin(y), [-1, 4]), None)])
    with tf.Session(config=unfused) as s:
        plan = rewritten(s, z, [x, y])
        with pytest.raises(tf.errors.InvalidArgumentError, match="AddN"):
            plan.run([A, np.ones(4, np.float32)])


def kernel_calls(sample: Sample) -> Iterator[tuple[Operation, list[Any], list[Any]]]:
    """Each node of a sample with floats for outputs: its inputs, and what its kernel makes of them."""
    tensors = [tf.constant(i) for i in sample.inputs]
    outputs = sample.build(tf, *tensors)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    with tf.Session() as session:
        if sample.setup is not None:
            sample.setup(tf, session)
        plan = Plan(session, FetchPlan(session.graph, outputs, session), tensors)
        for op in plan.ops:
            of_interest = buffers.keeps_nothing(op) or op.op_def.view_of is not None
            if not of_interest or any(t.dtype.is_ref for t in op.inputs):
                continue
            if any(t.dtype.name not in ("float32", "float64") for t in op.outputs):
                continue
            values = [np.asarray(v) for v in session.run(list(op.inputs))]
            arguments: list[Any] = []
            position = 0
            for arg in op.op_def.inputs:
                count = op.attrs[arg.number_attr] if arg.number_attr else 1
                if arg.type_list_attr:
                    count = len(op.attrs[arg.type_list_attr])
                part = values[position : position + count]
                arguments.append(part if arg.is_list else part[0])
                position += count
            before = [v.copy() for v in values]
            with np.errstate(all="ignore"):
                results = plan.bind_kernel(op)(*arguments)
            for value, old in zip(values, before, strict=True):
                np.testing.assert_array_equal(value, old)
            yield op, values, list(results) if isinstance(results, tuple) else [results]


SAMPLES = [s for s in all_samples() if s.op in all_ops() and all_ops()[s.op].keeps_nothing]
VIEWS = [s for s in all_samples() if s.op in all_ops() and all_ops()[s.op].view_of is not None]


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_kernels_keep_to_what_their_ops_say(sample: Sample) -> None:
    for op, values, results in kernel_calls(sample):
        for result in results:
            if isinstance(result, np.ndarray) and result.size and buffers.keeps_nothing(op):
                assert not any(np.shares_memory(result, v) for v in values), op.type
                if op.op_def.own_memory:
                    assert result.flags.writeable
                    assert all(
                        s or n == 1 for s, n in zip(result.strides, result.shape, strict=True)
                    )


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("training", [True, False])
def test_what_batch_normalization_made_is_taken_over(
    training: bool, data_format: str, unfused: Any
) -> None:
    x = tf.placeholder(tf.float32, [2, 3, 5, 3])
    gamma, beta = tf.Variable([1.5, -0.5, 2.0]), tf.Variable([0.1, 0.2, -0.3])
    given = {} if training else {"mean": [0.1, 0.0, -0.2], "variance": [1.0, 2.0, 0.5]}
    y, mean, variance = tf.nn.fused_batch_norm(
        x, gamma, beta, **given, data_format=data_format, is_training=training
    )
    z = tf.nn.relu(y)
    slopes = tf.gradients(z * z, [x, gamma, beta])
    images = np.random.default_rng(0).standard_normal((2, 3, 5, 3)).astype(np.float32)
    fetches = [z, mean, variance, slopes[0] + 0.5, *slopes[1:]]
    plan = check(fetches, {x: images}, unfused)
    names = {t.op.name: text for t, text in plan.generated.values.items() if t.value_index == 0}
    made = {local for local, from_ in plan.generated.reused.items() if from_.endswith("_0")}
    assert names["Relu"] in made and names["add"] in made
    kept = check([y, *fetches, slopes[0]], {x: images}, unfused)
    assert not any(local.endswith("_0") for local in kept.generated.reused.values())


OWN_RESULTS = [s for s in all_samples() if s.op in all_ops() and all_ops()[s.op].own_results]


@pytest.mark.parametrize("sample", OWN_RESULTS, ids=[s.id for s in OWN_RESULTS])
def test_results_of_their_own_are_nobody_else_s(sample: Sample) -> None:
    for op, values, results in kernel_calls(sample):
        for i in op.op_def.own_results:
            result, others = results[i], [r for k, r in enumerate(results) if k != i]
            assert result.flags.writeable and 0 not in result.strides
            for other in (*values, *others):
                assert not np.shares_memory(result, other), op.type


def test_views_look_at_the_input_that_their_ops_name() -> None:
    seen: dict[str, bool] = {}
    for sample in VIEWS:
        with tf.Graph().as_default():
            for op, values, results in kernel_calls(sample):
                of = op.op_def.view_of
                if of is None:
                    continue
                seen.setdefault(op.type, False)
                for result in results:
                    shared = {i for i, v in enumerate(values) if np.shares_memory(result, v)}
                    assert shared <= {of}, op.type
                    seen[op.type] = seen[op.type] or bool(shared)
    assert len(seen) >= 9
    assert not [op_type for op_type, any_shared in seen.items() if not any_shared]


def random_graph(rng: Any, x: Any, v: Any) -> list[Any]:
    """A few dozen random ops over [n, 4] matrices; returns what to fetch."""
    # A read is a look at the variable, as in TensorFlow; what is computed from it stays.
    values = [x, tf.tanh(v), tf.constant(A), tf.exp(x * 0.1)]
    waits: list[Any] = []

    def pick() -> Any:
        return values[rng.integers(max(0, len(values) - 6), len(values))]

    unary = [
        tf.tanh,
        tf.sin,
        tf.nn.relu,
        tf.nn.sigmoid,
        tf.abs,
        tf.square,
        tf.identity,
        tf.negative,
    ]
    binary = [tf.add, tf.subtract, tf.multiply, tf.maximum]
    for _ in range(int(rng.integers(8, 30))):
        kind = rng.integers(0, 12)
        a, b = pick(), pick()
        with tf.control_dependencies(waits[-1:] if rng.random() < 0.2 else []):
            if kind < 4:
                t = unary[rng.integers(len(unary))](a)
            elif kind < 7:
                t = binary[rng.integers(len(binary))](a, b)
            elif kind == 7:
                t = tf.reshape(tf.reshape(a, [-1]), [3, 4])
            elif kind == 8:
                t = tf.transpose(tf.transpose(a) * 0.5)
            elif kind == 9:
                left, right = tf.split(a, 2, 1)
                t = tf.concat([right, left * 0.3], 1)
            elif kind == 10:
                t = tf.add_n([a, b, pick()])
            elif rng.random() < 0.5:
                with tf.control_dependencies(values):
                    change = tf.assign(v, tf.tanh(a))
                waits.append(change)
                with tf.control_dependencies([change]):
                    t = v.read_value() * float(rng.integers(1, 3))
            else:
                t = tf.nn.bias_add(tf.tanh(a), tf.reduce_mean(b, 0))
        values.append(t)
    chosen = rng.choice(len(values), int(rng.integers(1, 4)), replace=False)
    return [values[-1], *(values[i] for i in chosen)]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("fuse", [False, True])
def test_random_graphs(seed: int, fuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "_WORTHWHILE_ELEMENTS", 1)
    monkeypatch.setattr(elementwise, "_SMALL_ELEMENTS", 0)
    rng = np.random.default_rng(seed)
    x = tf.placeholder(tf.float32, [3, 4])
    v = tf.Variable(A * 0.5)
    fetches = random_graph(rng, x, v)
    config = tf.ConfigProto()
    if not fuse:
        config.graph_options.rewrite_options.remapping = 2  # OFF
    value = rng.standard_normal((3, 4)).astype(np.float32)
    plain_config = tf.ConfigProto()
    plain_config.graph_options.rewrite_options.disable_meta_optimizer = True
    kept = value.copy()
    with tf.Session(config=plain_config) as plain, tf.Session(config=config) as s:
        plain.run(v.initializer)
        s.run(v.initializer)
        plan = rewritten(s, fetches, [x])
        for _ in range(3):
            want, got = plain.run(fetches, {x: value}), plan.run([value])
            for w, g in zip(want, got, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(s.run(v), plain.run(v), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(value, kept)


@pytest.mark.parametrize("order", ["aba", "aab", "baa", "abb", "bab", "abc", "bac", "bca"])
def test_a_term_that_is_added_twice_is_not_written_over(order: str, unfused: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    terms = {"a": tf.exp(x), "b": tf.identity(x), "c": tf.sin(x)}
    check([tf.add_n([terms[letter] for letter in order])], {x: A}, unfused)


def test_large_sums_and_products_are_shared_by_threads(
    unfused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the rows of an unknown batch, in place where an operand dies; small ones are left to NumPy."""
    monkeypatch.undo()
    x = tf.placeholder(tf.float32, [None, 4])
    W = tf.Variable(np.ones((4, 64), np.float32))
    b = tf.Variable(np.arange(64, dtype=np.float32))
    h = tf.matmul(x, W)
    y, small = h + b, x * x
    plan = check([y, y * y, tf.nn.bias_add(y, b), small], {x: A}, unfused)
    texts = {line.op.type: line.text for line in plan.generated.lines if line.op and line.sets}
    called = re.compile(r"t\w+ = o\d+\(.*\)")
    for t in (y, tf.nn.bias_add(y, b)):
        assert called.fullmatch(texts[t.op.type]), texts
    products = {
        line.op.outputs[0].dims[-1]: line.text
        for line in plan.generated.lines
        if line.op and line.op.type == "Mul"
    }
    assert called.fullmatch(products[64]) and not called.fullmatch(products[4])
    assert len(plan.generated.reused) == 1
