"""Gradients of weights in loops: factors noted in the rounds, one product after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from dataflow.kernels import loop_accumulator
from tests.rewrites.rewritten import rewritten, types
from tests.rewrites.test_multi_output_fusion import both, same

RNG = np.random.default_rng(0)


def _network(
    steps: Any, batch: int | None = None, gate_gradients: bool = False
) -> tuple[list[Any], dict[Any, Any]]:
    """A loss of a loop over a placeholder, and gradients of its weights and bias."""
    x = tf.placeholder(tf.float32, [batch, 3])
    w, b = tf.placeholder(tf.float32, [3, 3]), tf.placeholder(tf.float32, [3])
    _, h = tf.while_loop(
        lambda i, _: i < steps,
        lambda i, h: (i + 1, tf.tanh(tf.nn.bias_add(tf.matmul(h, w), b))),
        [0, x],
    )
    loss = tf.reduce_sum(tf.square(h))
    feeds = {t: RNG.normal(size=[5 if n is None else n for n in t.dims]) for t in (x, w, b)}
    return [loss, *tf.gradients(loss, [w, b, x], gate_gradients=gate_gradients)], feeds


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_products_and_sums_of_rows_wait_for_the_last_round(steps: int) -> None:
    number = tf.placeholder(tf.int32, [])
    fetched, feeds = _network(number)
    plan, got, wanted = both(fetched, {**feeds, number: steps})
    same(got, wanted)
    kinds = types(plan)
    assert kinds.count("_AddProduct") == kinds.count("_AddRows") == 1
    assert kinds.count("_RoundsTotal") == 2 and "BiasAddGrad" not in kinds
    assert sum(hit.rule == "loop_sums" for hit in plan.journal) == 2


def test_the_bias_of_images_with_channels_first_is_summed_in_the_loop() -> None:
    """What waits for the last round are rows: sums over all axes but the last."""
    x, b = tf.placeholder(tf.float32, [2, 3, 4, 5]), tf.placeholder(tf.float32, [3])
    _, h = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, h: (i + 1, tf.tanh(tf.nn.bias_add(h, b, data_format="NCHW"))),
        [0, x],
    )
    fetched = tf.gradients(tf.reduce_sum(tf.square(h)), [b])
    plan, got, wanted = both(fetched, {t: RNG.normal(size=t.dims) for t in (x, b)})
    same(got, wanted)
    assert "BiasAddGrad" in types(plan) and "_AddRows" not in types(plan)


def test_gates_of_gradients_do_not_keep_products_in_the_loop() -> None:
    fetched, feeds = _network(5, gate_gradients=True)
    plan, got, wanted = both(fetched, feeds)
    same(got, wanted)
    assert types(plan).count("_AddProduct") == types(plan).count("_AddRows") == 1


def test_terms_are_added_up_before_they_take_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_accumulator, "_MOST_BYTES", 300)
    fetched, feeds = _network(9)
    _, got, wanted = both(fetched, feeds)
    same(got, wanted)


def test_second_derivatives_and_nested_loops() -> None:
    w = tf.placeholder(tf.float32, [2, 2])

    def inner(h: Any) -> Any:
        return tf.while_loop(
            lambda j, _: j < 2, lambda j, g: (j + 1, tf.tanh(tf.matmul(g, w))), [0, h]
        )[1]

    _, h = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, inner(h) + h), [0, w])
    (first,) = tf.gradients(tf.reduce_sum(tf.square(h)), w)
    plan, got, wanted = both(first, {w: RNG.normal(size=(2, 2)).astype("f")})
    same([got], [wanted])
    assert "_AddProduct" in types(plan)
    _, flat = tf.while_loop(
        lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, w]
    )
    (first,) = tf.gradients(tf.reduce_sum(tf.square(flat)), w)
    (second,) = tf.gradients(tf.reduce_sum(tf.sin(first)), w)
    _, got, wanted = both(second, {w: RNG.normal(size=(2, 2)).astype("f")})
    same([got], [wanted])


def test_a_sum_that_rounds_look_at_stays() -> None:
    x, w = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.float32, [2, 2])
    _, total = tf.while_loop(
        lambda i, total: i < 4,
        lambda i, total: (i + 1, total + tf.matmul(tf.tanh(total), w)),
        [0, x],
    )
    _, bounded = tf.while_loop(
        lambda i, total: tf.reduce_sum(total) < 40,
        lambda i, total: (i + 1, total + tf.matmul(w, w)),
        [0, x],
    )
    feeds = {x: np.ones((2, 2), "f"), w: np.ones((2, 2), "f")}
    plan, got, wanted = both([total, bounded], feeds)
    same(got, wanted)
    assert "_AddProduct" not in types(plan)


def test_a_sum_of_the_users_is_made_after_the_loop_and_a_misfit_is_that_of_its_node() -> None:
    x, y = tf.placeholder(tf.float32, [2, None]), tf.placeholder(tf.float32, [None, 2])
    _, total = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, t: (i + 1, t + tf.matmul(x, y * tf.cast(i, tf.float32), name="the_product")),
        [0, tf.eye(2)],
    )
    with tf.Session() as session:
        plan = rewritten(session, total, [x, y])
        assert "_AddProduct" in types(plan)
        got = plan.run([np.ones((2, 3), "f"), np.ones((3, 2), "f")])
        np.testing.assert_allclose(got, np.eye(2) + 18)
        with pytest.raises(InvalidArgumentError, match="do not fit") as e:
            plan.run([np.ones((2, 3), "f"), np.ones((4, 2), "f")])
    assert e.value.op.name.endswith("the_product")
