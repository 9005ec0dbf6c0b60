"""Regions: several element-wise values from one kernel, equal to those of the unfused plan."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from dataflow.rewrites.multi_output_fusion import RegionSearch
from dataflow.rewrites.options import RewriteOptions
from tests.rewrites.rewritten import rewritten, types


def both(fetches: list[Any], feeds: dict[Any, Any]) -> tuple[Any, list[Any], list[Any]]:
    """The rewritten plan, its results, and those of the plan as it was built."""
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=off) as s:
        plain = s.run(fetches, feeds)
    with tf.Session() as s:
        plan = rewritten(s, fetches, list(feeds))
        return plan, plan.run(list(feeds.values())), plain


def same(got: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [None, 7])
def test_a_loss_and_its_gradient_are_one_kernel(either: None, rows: int | None) -> None:
    x = tf.placeholder(tf.float32, [rows, 65])
    labels = tf.placeholder(tf.float32, [rows, 65])
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x)
    (gradient,) = tf.gradients(loss, x)
    rng = np.random.default_rng(0)
    value = rng.normal(0, 20, (7, 65)).astype(np.float32)
    value[0, :5] = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    feeds = {x: value, labels: rng.random((7, 65), np.float32)}
    plan, got, wanted = both([loss, gradient], feeds)
    same(got, wanted)
    if rows is None:  # between the loss and the gradient its sizes are asked for
        assert types(plan).count("_FusedRegion") == 2
        return
    assert types(plan) == ["_FusedRegion"]
    (hit,) = [h for h in plan.journal if h.rule == "fusion"]
    assert "2 results" in hit.equation
    assert "def small" in hit.source


def test_what_comes_before_a_loop_is_not_fused_with_what_comes_after_it() -> None:
    """The gradient of a loop waits for its initial values also where no edge says so."""
    w = tf.placeholder(tf.float32, [5])
    h = tf.tanh(w)
    rows = tf.concat([tf.expand_dims(h, 0) for _ in range(32)], 0)
    _, _, total = tf.while_loop(
        lambda i, x, y: i < 3,
        lambda i, x, y: (i + 1, tf.sin(x), y + x),
        [0, rows, tf.zeros([32, 5])],
    )
    (gradient,) = tf.gradients(tf.reduce_sum(total * total), w)
    _, got, wanted = both([total, gradient], {w: np.linspace(-1, 1, 5, dtype=np.float32)})
    same(got, wanted)


def test_a_node_that_waits_for_a_change_is_not_fused(either: None) -> None:
    x = tf.placeholder(tf.float32, [20])
    v = tf.Variable(1.0)
    before = tf.sin(x)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        waiting = tf.exp(before)
    fetches = [tf.cos(before), waiting * 2.0, waiting + before]
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, fetches, [x])
        same(
            plan.run([np.ones(20)]),
            [np.cos(w := np.sin(np.ones(20))), 2 * np.exp(w), np.exp(w) + w],
        )
        assert s.run(v) == 2.0


@pytest.mark.parametrize("format", ["NHWC", "NCHW"])
def test_a_bias_is_added_along_the_axis_of_its_format(either: None, format: str) -> None:
    x, b = tf.placeholder(tf.float32, [2, 3, 4, 3]), tf.placeholder(tf.float32, [3])
    y = tf.nn.relu(tf.nn.bias_add(x, b, data_format=format) * 2.0)
    value = np.random.default_rng(0).normal(size=(2, 3, 4, 3)).astype(np.float32)
    bias = np.array([1, 20, 300], np.float32)
    _, got, _ = both([y, tf.exp(-y)], {x: value, b: bias})
    added = value + (bias if format == "NHWC" else bias[:, None, None])
    np.testing.assert_allclose(got[0], np.maximum(added * 2, 0), rtol=1e-6)


def test_what_lies_between_two_nodes_keeps_them_apart(either: None) -> None:
    x = tf.placeholder(tf.float32, [64, 64])
    power = tf.exp(tf.tanh(x) * 0.5)
    y = power / tf.reduce_sum(power) + tf.square(power)
    plan, got, wanted = both([y, power], {x: np.eye(64, dtype=np.float32)})
    same(got, wanted)
    assert types(plan).index("_FusedRegion") < types(plan).index("Sum")


@pytest.mark.parametrize("seed", range(25))
def test_graphs_drawn_at_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    feeds = {
        tf.placeholder(tf.float32, [5, 7]): rng.normal(size=(5, 7)).astype(np.float32)
        for _ in range(3)
    }
    nodes = list(feeds)
    unary: list[Callable[[Any], Any]] = [
        *(tf.tanh, tf.abs, tf.negative, tf.nn.relu, tf.sigmoid),
        lambda t: t - tf.reduce_mean(t),
        lambda t: t - tf.reduce_max(t, 1, keepdims=True),
        lambda t: tf.transpose(tf.sin(tf.transpose(t))),
    ]
    binary = [tf.add, tf.subtract, tf.maximum, lambda a, b: tf.where(a > b, a, b * 0.5)]
    for _ in range(90):
        picked = [nodes[i] for i in rng.integers(max(0, len(nodes) - 8), len(nodes), 2)]
        if rng.random() < 0.5:
            nodes.append(unary[rng.integers(len(unary))](picked[0]))
        else:
            nodes.append(binary[rng.integers(len(binary))](*picked))
    fetched = [nodes[i] for i in rng.integers(3, len(nodes), 4)] + nodes[-1:]
    _, got, wanted = both(fetched, feeds)
    same(got, wanted)


def test_sizes_that_differ_only_when_it_runs(either: None) -> None:
    """One value has the smaller shape, although both are [None] when the plan is made."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    small = tf.square(tf.tanh(tf.abs(x) + 1.0) * 2.0)
    large = tf.tanh(small + y) * y
    plan = None
    for sizes in ((1, 90), (90, 90), (90, 1), (0, 1)):
        feeds = {
            t: np.linspace(-1, 1, n, dtype=np.float32) for t, n in zip((x, y), sizes, strict=True)
        }
        plan, got, wanted = both([small, large], feeds)
        same(got, wanted)
        assert [v.shape for v in got] == [v.shape for v in wanted]
    assert "_FusedRegion" in types(plan)


def test_an_error_is_that_of_the_node(either: None) -> None:
    x, y = tf.placeholder(tf.float32, [None, 100]), tf.placeholder(tf.float32, [None, 100])
    a = tf.tanh(x * 2.0)
    total = tf.add_n([a, tf.abs(y), a + 1.0], name="the_sum")
    z = tf.square(total) - total
    feeds = [np.ones((3, 100), np.float32), np.ones((2, 100), np.float32)]
    with tf.Session() as s:
        plan = rewritten(s, z, [x, y])
        assert "_FusedRegion" in types(plan)
        with pytest.raises(InvalidArgumentError, match=r"same shape: \(3, 100\), \(2, 100\)") as e:
            plan.run(feeds)
    assert e.value.op.name == "the_sum"


def test_truth_values_that_others_need(either: None) -> None:
    x = tf.placeholder(tf.float32, [9, 8])
    positive = tf.tanh(x) * 2.0 > tf.abs(x) - 0.5
    y = tf.where(positive, tf.exp(x), tf.square(x) + x)
    fetched = [positive, y, tf.reduce_sum(tf.cast(positive, tf.int32))]
    value = np.random.default_rng(0).normal(size=(9, 8)).astype(np.float32)
    plan, got, wanted = both(fetched, {x: value})
    np.testing.assert_array_equal(got[0], wanted[0])
    same(got[1:], wanted[1:])
    assert "_FusedRegion" in types(plan)


def test_what_reads_a_variable_after_its_last_change_is_fused(either: None) -> None:
    """Adam's sparse update: a root, a product, a sum and a quotient over the whole table."""
    rows = tf.placeholder(tf.int32, [5])
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    results = []
    table = tf.Variable(np.linspace(-1, 1, 3000 * 16, dtype=np.float32).reshape(3000, 16))
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, rows)))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    for config in (None, off):
        with tf.Session(config=config) as s:
            s.run(tf.global_variables_initializer())
            for i in range(6):
                s.run(train, {rows: [i, 7, 7, 2999, 3 * i]})
            results.append(s.run(table))
            if config is None:
                (plan,) = [p for p in s._plans.values() if p.feeds]
                (fused,) = [op for op in plan.compiled_ops if op.type == "_Fused"]
                steps = [step[0] for step in fused.attrs["program"].steps]
                assert sorted(steps) == ["AddV2", "Mul", "RealDiv", "Sqrt"]
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-7)


def test_what_reads_a_variable_between_two_changes_stays(either: None) -> None:
    x = tf.placeholder(tf.float32, [40, 50])
    v = tf.Variable(np.ones((40, 50), np.float32))
    once = tf.assign_add(v, x)
    seen = tf.sqrt(once) * 2.0 + tf.abs(once) - tf.square(once)
    with tf.control_dependencies([once]):
        twice = tf.assign_add(v, x)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, [seen, twice.op], [x])
        regions = [op for op in plan.compiled_ops if op.type == "_FusedRegion"]
        assert not any(t.dtype.is_ref for op in regions for t in op.inputs)


def test_scalars_and_single_ops_stay() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.placeholder(tf.float32, [20])
    with tf.Session() as s:
        assert "_FusedRegion" not in types(rewritten(s, x * x + x * 2.0 - x / 3.0, [x]))
        assert "_FusedRegion" not in types(rewritten(s, y + 1.0, [y]))


def test_what_only_the_cpu_has_is_not_for_gpus() -> None:
    assert RewriteOptions().where(has_gpu=False).for_cpu
    assert not RewriteOptions().where(has_gpu=True).for_cpu
    assert RewriteOptions().where(has_gpu=True).regions


def test_slices_give_back_their_gradients_joined() -> None:
    x = tf.placeholder(tf.float32, [6, 4])
    (gradient,) = tf.gradients([tf.square(x[:2]), tf.exp(x[2:])], x)
    _, got, wanted = both([gradient], {x: np.arange(24, dtype=np.float32).reshape(6, 4) / 9})
    same(got, wanted)


def test_padded_parts_that_cover_an_array_are_joined() -> None:
    a, b = tf.placeholder(tf.float32, [2, 4]), tf.placeholder(tf.float32, [3, 4])
    late, early = tf.pad(a, [[3, 0], [0, 0]]), tf.pad(b, [[0, 2], [0, 0]])
    values = {a: np.ones((2, 4), np.float32), b: np.full((3, 4), 2, np.float32)}
    plan, got, wanted = both([tf.add_n([late, early])], values)
    same(got, wanted)
    assert types(plan) == ["ConcatV2", "AddV2"]
    values = {a: np.full((2, 4), -0.0, np.float32), b: np.full((3, 4), -0.0, np.float32)}
    _, got, wanted = both([tf.add_n([late, early])], values)
    assert got[0].tobytes() == wanted[0].tobytes()
    overlapping = tf.add_n([tf.pad(a, [[2, 1], [0, 0]]), early])
    plan, got, wanted = both([overlapping], values)
    same(got, wanted)
    assert "AddN" in types(plan)


def test_an_array_is_not_made_larger_for_an_op_that_broadcasts() -> None:
    x, y = tf.placeholder(tf.float32, [6, 4]), tf.placeholder(tf.float32, [6, 1])
    values = {x: np.ones((6, 4), np.float32), y: np.arange(6, dtype=np.float32)[:, None]}
    plan, got, wanted = both([x - tf.broadcast_to(y, [6, 4])], values)
    same(got, wanted)
    assert types(plan) == ["Sub"]


def test_sums_take_terms_that_are_enlarged_as_they_are() -> None:
    x, y = tf.placeholder(tf.float32, [6, 4]), tf.placeholder(tf.float32, [6, 1])
    values = {x: np.ones((6, 4), np.float32), y: np.arange(6, dtype=np.float32)[:, None]}
    scaled = tf.constant(2.0) * tf.broadcast_to(y, [6, 4])
    plan, got, wanted = both([tf.add_n([scaled, x, tf.exp(x)])], values)
    same(got, wanted)
    assert "BroadcastTo" not in types(plan) and "AddN" not in types(plan)
    alone = tf.add_n([tf.broadcast_to(y, [6, 4]), tf.broadcast_to(-y, [6, 4])])
    plan, got, wanted = both([alone], values)
    same(got, wanted)


def test_a_fetched_operation_may_be_the_last_of_a_region() -> None:
    x = tf.placeholder(tf.float32, [20])
    last = x / (x * x + x * 2.0)
    seen = tf.identity(x * x)
    with tf.Session() as session:
        for fetches in (last.op, [last.op, seen]):
            for _ in range(5):  # rewritten on the way
                got = session.run(fetches, {x: np.ones(20)})
    assert got[0] is None
    np.testing.assert_array_equal(got[1], np.ones(20))


@pytest.mark.parametrize("shape", [(5, 20), (1, 7), (6, 1), (3, 4, 16)])
def test_rows_are_chosen(either: None, shape: tuple[int, ...]) -> None:
    """A recurrent network's sequences that have ended keep their state."""
    x = tf.placeholder(tf.float32, [None, *shape[1:]])
    active = tf.placeholder(tf.bool, [None])
    new = tf.tanh(x) * tf.sigmoid(x)
    state = tf.where(active, new, x) + tf.where(active, x * 2.0, tf.zeros_like(x))
    (gradient,) = tf.gradients(state, x)
    rng = np.random.default_rng(0)
    feeds = {x: rng.normal(size=shape).astype("f"), active: rng.random(shape[0]) < 0.5}
    plan, got, wanted = both([state, gradient], feeds)
    same(got, wanted)
    assert "_FusedRegion" in types(plan) and "Select" not in types(plan)
    with pytest.raises(InvalidArgumentError) as e:
        plan.run([feeds[x], np.ones(shape[0] + 1, bool)])
    assert e.value.op.type == "Select"


@pytest.mark.parametrize("rows", [None, 7])
@pytest.mark.parametrize("axis", [1, -1])
def test_results_are_written_where_they_are_joined(
    either: None, rows: int | None, axis: int
) -> None:
    """The gradient of gates that were split."""
    x = tf.placeholder(tf.float32, [rows, 20])
    a, b = tf.tanh(x) * tf.sigmoid(x), tf.square(x) - tf.abs(x)
    c = a + b
    joined = tf.concat([c, a, b], axis)
    twice = tf.concat([c * 2.0, c * 2.0], axis)
    feeds = {x: np.random.default_rng(0).normal(size=(7, 20)).astype("f")}
    plan, got, wanted = both(
        [joined, twice, a, tf.reduce_sum(tf.matmul(joined, joined, True))], feeds
    )
    same(got, wanted)
    assert [v.shape for v in got] == [v.shape for v in wanted]
    assert types(plan).count("ConcatV2") == 1  # nothing can be in two places


def test_what_is_joined_along_another_axis_or_elsewhere_is_joined_afterwards(either: None) -> None:
    x = tf.placeholder(tf.float32, [6, 20])
    a, b = tf.tanh(x) * tf.sigmoid(x), tf.square(x) - tf.abs(x) + tf.tanh(x)
    results = [tf.concat([a, b], 0), tf.cond(x[0, 0] > 0, lambda: tf.concat([a, b], 1), lambda: x)]
    for sign in (1, -1):
        feeds = {x: np.full((6, 20), sign, "f")}
        plan, got, wanted = both(results, feeds)
        same(got, wanted)
        assert types(plan).count("ConcatV2") == 2


def test_a_region_loads_the_kernels_that_it_needs_and_no_others() -> None:
    code = (
        "import sys, numpy as np, dataflow as tf\n"
        "x = tf.placeholder(tf.float32, [16])\n"
        "y = x\n"
        "for _ in range(20): y = tf.tanh(y) * x\n"
        "s = tf.Session()\n"
        "for _ in range(4): s.run(y, {x: np.ones(16, np.float32)})\n"
        "(plan,) = set(s._plans.values())\n"
        "print(len(plan.journal) > 0, 'dataflow.kernels.all' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["True", "False"]


def test_a_constant_that_gives_a_step_its_shape_stays_an_array(either: None) -> None:
    """Ones [6, 9] times [6, 1]: as a number they would leave [6, 1]."""
    value = np.random.default_rng(0).standard_normal((6, 9)).astype(np.float32)
    x = tf.placeholder(tf.float32, value.shape)

    def mean(t: Any) -> Any:
        return tf.reduce_mean(t, 1, keepdims=True)

    centered = x - mean(x)
    for y in (x * tf.rsqrt(mean(x * x) + 1e-5), centered * tf.rsqrt(mean(centered * centered))):
        slope = tf.gradients(y, x)
        with tf.Session() as session:
            first, *later = [session.run(slope, {x: value})[0] for _ in range(4)]
        for again in later:
            np.testing.assert_array_equal(again, first)


def test_what_comes_before_a_join_does_not_hide_it(either: None) -> None:
    """Other readers of the results, and a join along another axis, come first."""
    x = tf.placeholder(tf.float32, [64, 64])
    a, b = tf.tanh(x) * tf.sigmoid(x), tf.square(x) - tf.abs(x) + tf.tanh(x)
    fetches = [tf.matmul(a, b), tf.concat([a, b], 0), tf.concat([a, b], 1)]
    plan, got, wanted = both(fetches, {x: np.linspace(-1, 1, 4096).reshape(64, 64)})
    same(got, wanted)
    assert types(plan).count("ConcatV2") == 1


@pytest.mark.parametrize(("steps", "is_fused"), [(4, False), (5, True)])
def test_a_sum_of_two_terms_is_worth_one_call(steps: int, is_fused: bool) -> None:
    """Of one element the kernel has to save more calls than it costs, and the sum is one of them."""
    x, y = (tf.placeholder(tf.float32, [1]) for _ in range(2))
    z = tf.add_n([x, y])
    for _ in range(steps - 1):
        z = z * x
    plan, got, wanted = both([z], {x: np.ones(1, np.float32), y: np.ones(1, np.float32)})
    same(got, wanted)
    assert ("_FusedRegion" in types(plan)) is is_fused


def test_a_constant_of_equal_elements_is_a_number(either: None) -> None:
    x, z = (tf.placeholder(tf.float32, [6, 400]) for _ in range(2))
    twos = tf.constant(np.full((6, 400), 2.0, np.float32))
    y = x * twos + z
    value = np.random.default_rng(0).standard_normal((6, 400)).astype(np.float32)
    plan, got, wanted = both([y, y * y - z], {x: value, z: value})
    same(got, wanted)
    (region,) = [op for op in plan.compiled_ops if op.type == "_FusedRegion"]
    assert [t.dims for t in region.inputs if t.op.type == "Const"] == [()]


def test_what_waits_for_a_region_waits_for_all_that_it_comes_to_wait_for() -> None:
    search = RegionSearch()
    search.after = [0b0000, 0b0001, 0b0010, 0b0000]  # the third of the second, that of the first
    search.after[2] = search.closure(search.after[2])
    search._wait(0, 0b1000)
    assert search.after == [0b1000, 0b1001, 0b1011, 0b0000]


@pytest.mark.parametrize("kind", [tf.float32, tf.float64])
def test_the_mask_of_a_dropout_is_part_of_its_kernel(either: None, kind: Any) -> None:
    x, drawn = tf.placeholder(kind, [40, 70]), tf.placeholder(kind, [40, 70])
    mask = tf.cast(drawn >= 0.3, kind)
    y = x * (1.0 / 0.7) * mask
    rng = np.random.default_rng(0)
    feeds = {t: rng.random((40, 70)).astype(kind.as_numpy_dtype) for t in (x, drawn)}
    plan, got, wanted = both([y, mask], feeds)
    assert types(plan).count("_FusedRegion") == 1 and "Cast" not in types(plan)
    for a, b in zip(got, wanted, strict=True):
        assert a.tobytes() == b.tobytes() and a.dtype == b.dtype


def test_a_mask_that_is_given_is_cast_in_the_kernel_and_numbers_are_not(either: None) -> None:
    x = tf.placeholder(tf.float32, [40, 70])
    given, whole = tf.placeholder(tf.bool, [40, 70]), tf.placeholder(tf.int32, [40, 70])
    y = tf.nn.relu(x * tf.cast(given, tf.float32)) + 1.0
    z = tf.nn.relu(x * tf.cast(whole, tf.float32)) + 1.0
    rng = np.random.default_rng(0)
    feeds = {
        x: rng.standard_normal((40, 70)).astype("f"),
        given: rng.random((40, 70)) < 0.5,
        whole: rng.integers(-3, 3, (40, 70)).astype("i"),
    }
    plan, got, wanted = both([y, z], feeds)
    assert types(plan).count("Cast") == 1
    for a, b in zip(got, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


def test_regions_depend_on_what_each_of_theirs_depends_on() -> None:
    search = RegionSearch()
    search.after = [0b10000, 0, 0b1, 0b10, 0]
    assert search.closure(0b1101) == 0b11111
    assert search.closure(0b1010) == 0b1010
    assert search.closure(0) == 0
