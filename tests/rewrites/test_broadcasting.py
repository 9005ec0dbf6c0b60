"""What gradients of ops that broadcast need not sum, whatever the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.registry import get_op
from dataflow.rewrites.fed_shapes import dims_are_equal, equal_dims_of
from dataflow.rewrites.symbolic_shapes import Shapes
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING
from tests.rewrites.rewritten import rewritten
from tests.rewrites.test_multi_output_fusion import both, same, types


def test_a_layer_with_an_unknown_batch_sums_its_bias_alone() -> None:
    x = tf.placeholder(tf.float32, [None, 5])
    w, b = tf.placeholder(tf.float32, [5, 3]), tf.placeholder(tf.float32, [3])
    h = tf.tanh(tf.matmul(x, w) + b)
    loss = tf.reduce_mean(tf.square(h - tf.sigmoid(h) * 0.5))
    fetched = [loss, *tf.gradients(loss, [x, w, b])]
    rng = np.random.default_rng(0)
    fixed = {w: rng.normal(size=(5, 3)).astype("f"), b: rng.normal(size=3).astype("f")}
    for rows in (4, 1, 0):
        feeds = {x: rng.normal(size=(rows, 5)).astype("f"), **fixed}
        plan, got, wanted = both(fetched, feeds)
        same(got, wanted)
        assert [v.shape for v in got] == [v.shape for v in wanted]
        assert "BroadcastGradientArgs" not in types(plan)


@pytest.mark.parametrize("sizes", [(6, 6), (1, 6), (6, 1), (1, 1)])
def test_batches_that_may_differ_are_summed(sizes: tuple[int, int]) -> None:
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 2])
    fetched = tf.gradients(tf.tanh(x) * tf.square(y), [x, y])
    feeds = {
        t: np.linspace(0, 1, 2 * n, dtype="f").reshape(n, 2)
        for t, n in zip((x, y), sizes, strict=True)
    }
    plan, got, wanted = both(fetched, feeds)
    same(got, wanted)
    assert [v.shape for v in got] == [v.shape for v in wanted]
    assert "BroadcastGradientArgs" in types(plan)


def test_axes_of_another_rank_are_summed() -> None:
    """What looks like a gradient, but has the operand's shape and not the result's."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [3, None])
    axes, _ = get_op("BroadcastGradientArgs")(tf.shape(x), tf.shape(y))
    z = tf.reshape(tf.reduce_sum(tf.exp(x), axes), [-1])
    feeds = {x: np.ones(4, np.float32), y: np.ones((3, 4), np.float32)}
    _, got, wanted = both([z], feeds)
    same(got, wanted)
    assert got[0].shape == (1,)


def test_a_mean_is_divided_before_it_is_spread() -> None:
    x = tf.placeholder(tf.float32, [None, 7, 4])
    (gradient,) = tf.gradients(tf.square(tf.reduce_mean(x, 1)), x)
    plan, got, wanted = both([gradient], {x: np.arange(56, dtype="f").reshape(2, 7, 4)})
    same(got, wanted)
    order = types(plan)
    assert order.index("RealDiv") < order.index("BroadcastTo")


@pytest.mark.parametrize("order", ["filled first", "filled last", "two", "only filled"])
@pytest.mark.parametrize("number", [0.0, -0.0, 1.5])
def test_a_filled_array_is_added_as_a_number(order: str, number: float) -> None:
    """To the bit: 0.0 makes 0.0 of -0.0, and -0.0 does not."""
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.square(x) * tf.constant([-1.0, 1.0, 2.0])
    filled = [tf.fill(tf.shape(x), tf.constant(number)) for _ in range(2)]
    terms = {
        "filled first": [filled[0], y],
        "filled last": [y, filled[0]],
        "two": [filled[0], y, tf.fill(tf.shape(x), 2.0), tf.exp(x)],
        "only filled": filled,
    }[order]
    total = tf.add_n(terms)
    feeds = {x: np.array([[0, -0.0, 3], [1, 0, -2]], np.float32)}
    plan, got, wanted = both([total], feeds)
    assert got[0].tobytes() == wanted[0].tobytes()
    assert ("Fill" in types(plan)) == (order == "only filled")


def test_a_filled_array_of_another_size_is_refused_as_before() -> None:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
    total = tf.add_n([x, tf.fill(tf.shape(y), 0.0)])
    with tf.Session() as s:
        plan = rewritten(s, total, [x, y])
        with pytest.raises(Exception, match="same shape"):
            plan.run([np.ones((2, 3)), np.ones((1, 3))])


@pytest.mark.parametrize("where", ["shape", "number", "sum"])
def test_a_filled_array_that_waits_is_waited_for(where: str) -> None:
    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [None])
    zero = tf.constant(0.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        if where == "shape":
            filled = tf.fill(tf.shape(x), zero)
        elif where == "number":
            filled = tf.fill(tf.shape(x), tf.constant(0.0))
        y = tf.identity(x) if where == "sum" else None
    if y is None:
        y = x
    else:
        filled = tf.fill(tf.shape(x), zero)
    total = tf.add_n([tf.exp(y), filled])
    with tf.Session() as s:
        s.run(v.initializer)
        for runs in range(1, RUNS_BEFORE_REWRITING + 4):
            np.testing.assert_array_equal(s.run(total, {x: [0, 0]}), [1, 1])
            assert s.run(v) == 1 + runs


def test_batch_normalization_keeps_sizes() -> None:
    x, y = tf.placeholder(tf.float32, [None, 4, 4, 3]), tf.placeholder(tf.float32, [None, 4, 4, 3])
    w = tf.constant(np.linspace(-1, 1, 81, dtype=np.float32).reshape(3, 3, 3, 3))
    h = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
    h, _, _ = tf.nn.fused_batch_norm(h, tf.constant([1.0, 2.0, 3.0]), tf.zeros(3))
    (gradient,) = tf.gradients(tf.square(h), x)
    batch = _symbols(x, [x, y])
    assert _symbols(h, [x, y]) == _symbols(gradient, [x, y]) == batch != _symbols(y, [x, y])
    images = np.random.default_rng(0).standard_normal((2, 4, 4, 3)).astype(np.float32)
    plan, got, wanted = both(tf.gradients(tf.square(h + x), [x, w]), {x: images})
    same(got, wanted)
    assert "BroadcastGradientArgs" not in types(plan)


def test_what_all_gradients_wait_for_keeps_no_sum_over_no_axes() -> None:
    """As `minimize` after the updates of batch normalization: each node of the gradient waits, by another."""
    x = tf.placeholder(tf.float32, [None, 4])
    v = tf.Variable(0.0)
    loss = tf.reduce_sum(tf.tanh(x) * tf.sigmoid(x))
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        slopes = tf.gradients(loss, x)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, slopes, [x])
        assert "BroadcastGradientArgs" not in types(plan)
        plan.run([np.ones((3, 4))])
        assert s.run(v) == 1


def _symbols(t: Any, feeds: list[Any]) -> Any:
    return Shapes(tf.get_default_graph().get_operations(), feeds).of(t)


def test_symbols_follow_the_batch() -> None:
    x = tf.placeholder(tf.int32, [None, 9])
    table = tf.constant(np.zeros((20, 4), np.float32))
    (batch, _) = _symbols(x, [x])
    rows = tf.nn.embedding_lookup(table, x)
    assert _symbols(rows, [x]) == (batch, 9, 4)
    assert _symbols(tf.reduce_mean(rows, 1), [x]) == (batch, 4)
    assert _symbols(tf.reduce_sum(rows, [0, 2], keepdims=True), [x]) == (1, 9, 1)
    assert _symbols(tf.reshape(rows, [-1, 36]), [x]) == (batch, 36)
    assert _symbols(tf.transpose(rows, [2, 0, 1]), [x]) == (4, batch, 9)
    assert _symbols(tf.expand_dims(rows, -1), [x]) == (batch, 9, 4, 1)
    assert _symbols(tf.concat([rows, rows], 2), [x]) == (batch, 9, 8)
    assert _symbols(tf.ones_like(rows) * tf.random_uniform(tf.shape(rows)), [x]) == (batch, 9, 4)
    assert _symbols(tf.reshape(rows, [-1, 6]), [x])[0] != batch
    # Two sizes that are not known: neither need be the batch.
    cut = tf.reshape(tf.reduce_sum(rows, 1), tf.placeholder(tf.int32, [3]))
    cut.set_shape([None, None, 4])
    first, second, _ = _symbols(cut, [x])
    assert len({first, second, batch}) == 3
    # Nor is a size that one row may have been repeated to.
    spread = tf.broadcast_to(tf.reduce_sum(rows, 1), tf.placeholder(tf.int32, [2]))
    spread.set_shape([None, 4])
    assert _symbols(spread, [x])[0] != batch


def test_a_loss_has_the_batch_of_its_logits() -> None:
    logits, labels = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 4])
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    feeds = [logits, labels]
    assert _symbols(losses, feeds) == _symbols(logits, feeds)[:1] != _symbols(labels, feeds)[:1]


def test_symbols_follow_steps_gates_and_states() -> None:
    x = tf.placeholder(tf.float32, [None, 3, 8])
    (batch, _, _) = _symbols(x, [x])
    steps = tf.unstack(x, axis=1)
    assert [_symbols(t, [x]) for t in steps] == [(batch, 8)] * 3
    assert _symbols(tf.stack(steps, 1), [x]) == (batch, 3, 8)
    assert _symbols(tf.split(steps[0], 4, 1)[3], [x]) == (batch, 2)
    assert _symbols(tf.split(steps[0], [3, 5], 1)[1], [x]) == (batch, 5)
    assert _symbols(tf.split(steps[0], 2, 0)[1], [x])[0] != batch
    state = tf.zeros(tf.stack([tf.shape(steps[0])[0], 5]))
    assert _symbols(state, [x]) == (batch, 5)
    assert _symbols(tf.zeros(tf.stack([tf.shape(x)[-1], 5])), [x]) == (8, 5)
    assert _symbols(tf.zeros(tf.stack([tf.shape(x)[0] + 1, 5])), [x])[0] != batch


@pytest.mark.parametrize("cell", ["BasicLSTMCell", "GRUCell"])
def test_an_unrolled_network_sums_no_gradient_over_its_batch(cell: str) -> None:
    x = tf.placeholder(tf.float32, [None, 4, 3])
    make = getattr(tf.nn.rnn_cell, cell)
    outputs, _ = tf.nn.static_rnn(make(5), tf.unstack(x, axis=1), dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(outputs[-1]))
    fetched = [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]
    value = np.random.default_rng(0).normal(size=(6, 4, 3)).astype(np.float32)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session() as s, tf.Session(config=config) as plain:
        for session in (s, plain):
            session.run(tf.global_variables_initializer())
        for v in tf.trainable_variables():
            v.load(s.run(v), plain)
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            got = s.run(fetched, {x: value})
        (plan,) = [p for p in s._plans.values() if p.journal and p.feeds]
        assert "BroadcastGradientArgs" not in types(plan)
        same(got, plain.run(fetched, {x: value}))
        same(s.run(fetched, {x: value[:1]}), plain.run(fetched, {x: value[:1]}))


def test_what_is_worth_fusing_depends_on_the_batch_that_was_fed() -> None:
    x = tf.placeholder(tf.float32, [None, 200])
    y = tf.tanh(x * 2.0) + tf.sigmoid(x)
    for size, kind in ((20, "_FusedRegion"), (500, "_Fused")):
        with tf.Session() as s:
            for _ in range(RUNS_BEFORE_REWRITING + 1):
                s.run(y, {x: np.ones((size, 200), np.float32)})
            (plan,) = s._plans.values()
            assert kind in types(plan)


def test_sizes_that_were_equal_are_taken_to_stay_so() -> None:
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 2])
    fetched = tf.gradients(tf.tanh(x) * tf.square(y), [x, y])

    def feeds(*sizes: int) -> dict[Any, Any]:
        return {t: np.ones((n, 2), np.float32) for t, n in zip((x, y), sizes, strict=True)}

    with tf.Session() as s:
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            s.run(fetched, feeds(6, 6))
        (plan,) = s._plans.values()
        assert "BroadcastGradientArgs" not in types(plan)
        s.run(fetched, feeds(5, 5))
        assert "BroadcastGradientArgs" not in types(plan)
        for sizes in ((1, 4), (4, 1), (5, 5), (1, 1)):
            got, (_, _, wanted) = s.run(fetched, feeds(*sizes)), both(fetched, feeds(*sizes))
            same(got, wanted)
            assert [v.shape for v in got] == [(n, 2) for n in sizes]
            assert "BroadcastGradientArgs" in types(plan)


def test_only_sizes_of_one_axis_and_of_more_than_one_are_taken_together() -> None:
    feeds = [tf.placeholder(tf.float32, d) for d in ([None], [None, None], [3, None], None)]
    values = [np.zeros(s) for s in ((3,), (3, 3), (3, 3), (3,))]
    assert equal_dims_of(feeds, values) == [[(0, 0), (1, 0)], [(1, 1), (2, 1)]]
    assert equal_dims_of(feeds[:2], [np.zeros(1), np.zeros((1, 4))]) == []
    fits = dims_are_equal([[(0, 0), (1, 0)], [(1, 1), (2, 1)]])
    assert fits(values)
    assert not fits([values[0], np.zeros((3, 4)), *values[2:]])


def test_sizes_are_asked_of_what_was_fed() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=tf.tanh(x)))
    plan, got, wanted = both([loss, *tf.gradients(loss, x)], {x: np.ones((5, 3), np.float32)})
    same(got, wanted)
    assert types(plan).count("_FusedRegion") == 1  # the gradient does not wait for the loss


def test_sizes_of_what_has_effects_are_asked_of_it() -> None:
    x = tf.placeholder(tf.float32, [None])
    count = tf.Variable(0)
    with tf.control_dependencies([tf.assign_add(count, 1)]):
        y = tf.identity(x)
    size = tf.size(tf.abs(y))
    with tf.Session() as s:
        s.run(count.initializer)
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            assert s.run(size, {x: np.ones(7)}) == 7
        assert s.run(count) == RUNS_BEFORE_REWRITING + 2


@pytest.mark.parametrize("sizes", [(6, 6), (1, 6), (6, 1), (1, 1)])
def test_a_shape_is_asked_of_operands_and_not_of_a_result(sizes: tuple[int, int]) -> None:
    """As in a loss of two arrays whose sizes only a run tells: nothing is stored for its shape."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    a, b = tf.boolean_mask(x, x >= 0), tf.boolean_mask(y, y >= 0)
    loss = (1 - a) * b + 3 * a * tf.square(b) - tf.tanh(b)
    fetched = [tf.reduce_sum(loss), *tf.gradients(loss, [a, b])]
    feeds = {t: np.linspace(0, 1, n, dtype="f") for t, n in zip((x, y), sizes, strict=True)}
    plan, got, wanted = both(fetched, feeds)
    same(got, wanted)
    assert [v.shape for v in got] == [v.shape for v in wanted]
    ops = plan.generated.line_ops.values()
    asked = {op.inputs[0].op.type for op in ops if op.type == "Shape"}
    assert asked == {"Placeholder", "GatherV2"}
    # Both products and their sum have one shape: summed for are a and b, and tanh(b) beside them.
    assert types(plan).count("BroadcastGradientArgs") == 2


def test_shapes_that_do_not_broadcast_are_refused_by_name() -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    a, b = tf.boolean_mask(x, x >= 0), tf.boolean_mask(y, y >= 0)
    size = tf.shape(tf.add(a, b, name="of_two"))
    with tf.Session() as s:
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            assert s.run(size, {x: np.ones(3), y: np.ones(3)}).tolist() == [3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="of_two|Shape"):
            s.run(size, {x: np.ones(3), y: np.ones(4)})


def test_a_result_that_is_fetched_gives_its_own_shape() -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    total = tf.boolean_mask(x, x >= 0) + tf.boolean_mask(y, y >= 0)
    feeds = {x: np.ones(3, "f"), y: np.ones(1, "f")}
    plan, got, wanted = both([total, tf.shape(total)], feeds)
    same(got, wanted)
    assert "BroadcastArgs" not in types(plan)


def test_symbols_of_what_broadcasts_are_sets() -> None:
    a, b, c = (tf.placeholder(tf.float32, [None]) for _ in range(3))
    left, right = (a + b) * c, (b * c) + a
    other = a * b
    fixed = a + tf.ones([4])
    feeds = [a, b, c]
    shapes = Shapes(
        [t.op for t in (a, b, c)] + list(_ancestors([left, right, other, fixed])), feeds
    )
    assert shapes.same(left, right)
    assert not shapes.same(left, other)
    assert shapes.of(fixed) == (4,)


def _ancestors(tensors: list[Any]) -> list[Any]:
    found: dict[Any, None] = {}

    def visit(op: Any) -> None:
        if op not in found:
            for t in op.inputs:
                visit(t.op)
            found[op] = None

    for tensor in tensors:
        visit(tensor.op)
    return list(found)


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        (lambda t: t[:, :1], True),
        (lambda t: t[0:, 1:3], True),
        (lambda t: t[:, tf.newaxis, 0], True),
        (lambda t: t[1:], False),
        (lambda t: t[::2], False),
        (lambda t: t[:4], False),
    ],
)
def test_an_axis_that_a_slice_takes_whole_keeps_its_size(part: Any, kept: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 5])
    sliced = part(x)
    shapes = Shapes(tf.get_default_graph().get_operations(), [x])
    assert shapes.of(sliced) is not None and shapes.of(x) is not None
    assert (shapes.of(sliced)[0] == shapes.of(x)[0]) is kept
    assert shapes.of(sliced)[1:] == tuple(sliced.shape.as_list()[1:])


def test_a_decoder_that_is_fed_a_slice_sums_nothing() -> None:
    """A loop whose state and input are slices of one array."""

    class Cell(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 3

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            new = tf.tanh(inputs) * state + inputs
            return new, new

    y = tf.placeholder(tf.float32, [None, None, 3])
    given = tf.concat([tf.zeros_like(y[:, :1]), y[:, :-1]], 1)
    outputs, _ = tf.nn.dynamic_rnn(Cell(), given, initial_state=y[:, 0])
    fetched = [outputs, *tf.gradients(outputs, [y])]
    rng = np.random.default_rng(0)
    feeds = {y: rng.normal(size=(4, 6, 3)).astype("f")}
    plan, got, wanted = both(fetched, feeds)
    same(got, wanted)
    assert "BroadcastGradientArgs" not in types(plan)


def test_a_shape_waits_for_what_a_scalar_operand_waits_for() -> None:
    """Only the shape of a product is asked for: its scalar still comes after an assignment."""
    count = tf.Variable(0.0)
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.assign_add(count, 1.0)]):
        scale = tf.add(tf.constant(1.0), 2.0)
    size = tf.shape(tf.exp(x * scale))
    with tf.Session() as s:
        s.run(count.initializer)
        for number in range(1, 6):  # rewritten on the way
            assert s.run(size, {x: [1.0, 2.0]}).tolist() == [2]
            assert s.run(count) == number


def _normalized(t: Any, size: int) -> Any:
    """Layer normalization, as programs wrote it."""
    mean, variance = tf.nn.moments(t, [-1], keep_dims=True)
    scale, shift = tf.linspace(0.5, 1.5, size), tf.linspace(-1.0, 1.0, size)
    return (t - mean) * tf.rsqrt(variance + 1e-6) * scale + shift


def test_attention_over_a_batch_of_sentences_sums_what_it_must_alone() -> None:
    """Flattened for its dense layers, split into heads and back: the batch is known all the way."""
    length, width, heads = 5, 8, 2
    x = tf.placeholder(tf.float32, [None, length, width])
    w = tf.placeholder(tf.float32, [width, width])

    def dense(t: Any) -> Any:
        return tf.reshape(tf.matmul(tf.reshape(t, [-1, width]), w), [-1, length, width])

    def split(t: Any) -> Any:
        return tf.transpose(tf.reshape(t, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    h = _normalized(x, width)
    scores = tf.nn.softmax(tf.matmul(split(dense(h)), split(dense(h)), transpose_b=True))
    mixed = tf.transpose(tf.matmul(scores, split(h)), [0, 2, 1, 3])
    h = _normalized(h + dense(tf.reshape(mixed, [-1, length, width])), width)
    loss = tf.reduce_sum(tf.square(h))
    fetched = [loss, *tf.gradients(loss, [x, w])]
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(width, width)).astype("f")
    for batch in (3, 1, 0):
        feeds = {x: rng.normal(size=(batch, length, width)).astype("f"), w: weights}
        plan, got, wanted = both(fetched, feeds)
        same(got, wanted)
        assert not {"BroadcastGradientArgs", "FloorDiv", "Size"} & set(types(plan))


@pytest.mark.parametrize("batch", [4, 1])
def test_a_row_for_each_place_is_summed_over_a_batch_that_may_be_one(batch: int) -> None:
    x = tf.placeholder(tf.float32, [None, 3, 2])
    places = tf.placeholder(tf.float32, [1, 3, 2])
    fetched = tf.gradients(tf.tanh(x) * places, [x, places])
    rng = np.random.default_rng(1)
    feeds = {t: rng.normal(size=(n, 3, 2)).astype("f") for t, n in ((x, batch), (places, 1))}
    _, got, wanted = both(fetched, feeds)
    same(got, wanted)
    assert [v.shape for v in got] == [v.shape for v in wanted]


def test_a_mean_over_a_size_that_is_not_known_is_counted() -> None:
    x = tf.placeholder(tf.float32, [None, 7, 4])
    (gradient,) = tf.gradients(tf.square(tf.reduce_mean(x, 0)), x)
    plan, got, wanted = both([gradient], {x: np.arange(56, dtype="f").reshape(2, 7, 4)})
    same(got, wanted)
    assert "FloorDiv" in types(plan)


def test_a_mean_of_rows_that_are_looked_up_in_a_variable_is_not_counted() -> None:
    table = tf.get_variable("table", initializer=np.linspace(-1, 1, 40, dtype="f").reshape(10, 4))
    ids = tf.placeholder(tf.int32, [None, 5])
    rows = tf.nn.embedding_lookup(table, ids)
    (gradient,) = tf.gradients(tf.square(tf.reduce_mean(rows, 2)), rows)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        feeds = {ids: np.arange(10).reshape(2, 5)}
        first = s.run(gradient, feeds)
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            np.testing.assert_array_equal(s.run(gradient, feeds), first)
        (plan,) = [p for p in s._plans.values() if p.journal and p.feeds]
        assert "FloorDiv" not in types(plan)


def test_the_shape_of_a_result_is_that_before_its_variable_got_another() -> None:
    v = tf.Variable(np.ones((2, 3), np.float32), validate_shape=False, name="v")
    x = tf.placeholder(tf.float32, [None, None], name="x")
    y = tf.tanh(v.value() * 2.0) + x
    with tf.control_dependencies([y]):
        longer = tf.assign(v, tf.ones([4, 3]), validate_shape=False)
    with tf.control_dependencies([longer]):
        shape = tf.shape(y)
    with tf.Session() as s:
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            s.run(v.initializer)
            assert s.run(shape, {x: np.zeros((1, 1))}).tolist() == [2, 3]


def test_what_only_looks_at_a_table_need_not_happen_for_a_shape() -> None:
    """Unlike what draws numbers, of which the next ones would be others."""
    x = tf.placeholder(tf.float32, [None])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), -1.0
    )
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        for factor, left in ((table.lookup(tf.constant("b")), 0), (tf.random_uniform([]), 1)):
            plan = rewritten(session, tf.size(tf.tanh(x) * factor), [x])
            assert plan.run([[3.0, 4.0]]) == 2
            assert types(plan).count(factor.op.type) == left
