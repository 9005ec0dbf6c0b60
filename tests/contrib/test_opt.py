"""`tf.contrib.opt`: each rule against NumPy; SciPy's optimizers on known minima."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

opt = tf.contrib.opt
START = np.array([[1.0, 2.0], [-3.0, 0.5], [4.0, -1.0]])
GRADS = np.random.RandomState(0).randn(3, 3, 2)
LR, B1, B2, EPS = 0.1, 0.9, 0.999, 1e-8  # tensors of float32, as TensorFlow's


pytestmark = pytest.mark.usefixtures("session")


def train(session: Any, optimizer: Any, rows: Any = None, **kwargs: Any) -> Any:
    """The variable after the three gradients; with ``rows`` they are those rows' gradients."""
    var = tf.Variable(START)
    grad = tf.placeholder(tf.float64, GRADS.shape[1:])
    fed: Any = grad if rows is None else tf.IndexedSlices(tf.gather(grad, rows), rows, [3, 2])
    step = optimizer.apply_gradients([(fed, var)], **kwargs)
    session.run(tf.global_variables_initializer())
    for value in GRADS:
        session.run(step, {grad: value})
    return session.run(var)


def nadam(var: Any, m: Any, v: Any, g: Any, t: int) -> tuple[Any, Any, Any]:
    m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g
    rate = LR * np.sqrt(1 - B2**t) / (1 - B1**t)
    return var - rate * (B1 * m + (1 - B1) * g) / (np.sqrt(v) + EPS), m, v


def adam(var: Any, m: Any, v: Any, g: Any, t: int) -> tuple[Any, Any, Any]:
    m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g
    return var - LR * np.sqrt(1 - B2**t) / (1 - B1**t) * m / (np.sqrt(v) + EPS), m, v


def adamax(var: Any, m: Any, v: Any, g: Any, t: int) -> tuple[Any, Any, Any]:
    m, v = B1 * m + (1 - B1) * g, np.maximum(B2 * v, np.abs(g))
    return var - LR / (1 - B1**t) * m / (v + EPS), m, v


def by_numpy(rule: Any, rows: Any = slice(None), decays: bool = False) -> Any:
    var, m, v = START.copy(), np.zeros_like(START), np.zeros_like(START)
    for t, g in enumerate(GRADS, 1):
        new = rule(var[rows], m[rows], v[rows], g[rows], t)
        if decays:
            m, v = B1 * m, B2 * v
        var[rows], m[rows], v[rows] = new
    return var


@pytest.mark.parametrize(
    ("optimizer", "rule"),
    [(opt.NadamOptimizer, nadam), (opt.AdaMaxOptimizer, adamax), (opt.LazyAdamOptimizer, adam)],
)
def test_relatives_of_adam(session: Any, optimizer: Any, rule: Any) -> None:
    np.testing.assert_allclose(train(session, optimizer(LR)), by_numpy(rule), rtol=2e-5)


@pytest.mark.parametrize(
    ("optimizer", "rule", "decays"),
    [
        (opt.NadamOptimizer, nadam, True),
        (opt.AdaMaxOptimizer, adamax, False),
        (opt.LazyAdamOptimizer, adam, False),
    ],
)
def test_rows_without_a_gradient_stay(
    session: Any, optimizer: Any, rule: Any, decays: bool
) -> None:
    found = train(session, optimizer(LR), rows=[2, 0])
    np.testing.assert_allclose(found, by_numpy(rule, [2, 0], decays), rtol=2e-5)
    np.testing.assert_array_equal(found[1], START[1])


@pytest.mark.parametrize("kind", ["add", "power"])
def test_signs(session: Any, kind: str) -> None:
    decay = opt.get_linear_decay_fn(4)
    step = tf.train.get_or_create_global_step()
    if kind == "add":
        found = train(session, opt.AddSignOptimizer(LR, 1.5, B1, decay), global_step=step)
    else:
        found = train(session, opt.PowerSignOptimizer(LR, 2.0, B1, decay), global_step=step)
    var, m = START.copy(), np.zeros_like(START)
    for t, g in enumerate(GRADS):
        m = B1 * m + (1 - B1) * g
        agree = np.sign(g) * np.sign(m) * (1 - t / 4)
        var -= LR * (1.5 + agree if kind == "add" else 2.0**agree) * g
    np.testing.assert_allclose(found, var, rtol=2e-5)


def test_decays_of_signs(session: Any) -> None:
    at = tf.constant([0, 5, 15, 20])
    cosine = session.run(opt.get_cosine_decay_fn(10, num_periods=1, zero_after=1.2)(at))
    np.testing.assert_allclose(cosine, [1, 0, 0, 0], atol=1e-6)
    restart = session.run(opt.get_restart_decay_fn(20, num_periods=2)(at))
    np.testing.assert_allclose(restart, [1, 0.5, 0.5, 1], atol=1e-6)
    with pytest.raises(ValueError, match="global_step is required"):
        opt.get_linear_decay_fn(10)(None)


@pytest.mark.parametrize("kind", ["AdamW", "MomentumW", "extended"])
def test_weights_decay_beside_the_gradient(session: Any, kind: str) -> None:
    if kind == "AdamW":
        found, rule = train(session, opt.AdamWOptimizer(0.01, LR)), adam
    else:
        made = (
            opt.MomentumWOptimizer(0.01, LR, B1)
            if kind == "MomentumW"
            else opt.extend_with_decoupled_weight_decay(tf.train.MomentumOptimizer)(0.01, LR, B1)
        )
        found = train(session, made)

        def rule(var: Any, m: Any, v: Any, g: Any, t: int) -> tuple[Any, Any, Any]:
            m = B1 * m + g
            return var - LR * m, m, v

    wanted = by_numpy(lambda var, *rest: rule(var - 0.01 * var, *rest))
    np.testing.assert_allclose(found, wanted, rtol=2e-5)


def test_chosen_weights_decay(session: Any) -> None:
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = opt.MomentumWOptimizer(0.5, learning_rate=0.0, momentum=0.9)
    step = optimizer.minimize(a * b, decay_var_list=[b])
    session.run(tf.global_variables_initializer())
    session.run(step)
    assert session.run([a, b]) == [1.0, 0.5]


def test_lars(session: Any) -> None:
    found = train(session, opt.LARSOptimizer(LR, B1, weight_decay=0.01, eeta=0.1))

    # The slot holds steps, so that each keeps the rate of its own time.
    def rule(var: Any, m: Any, v: Any, g: Any, t: int) -> tuple[Any, Any, Any]:
        size = np.linalg.norm(var)
        ratio = 0.1 * size / (np.linalg.norm(g) + 0.01 * size)
        m = B1 * m + LR * ratio * (g + 0.01 * var)
        return var - m, m, v

    np.testing.assert_allclose(found, by_numpy(rule), rtol=2e-5)
    plain = train(session, opt.LARSOptimizer(LR, B1, skip_list=["Variable"]))
    wanted = train(session, tf.train.MomentumOptimizer(LR, B1))
    np.testing.assert_allclose(plain, wanted, rtol=2e-5)


def test_lars_trains_rows_as_momentum_does(session: Any) -> None:
    rows = [2, 0, 2]
    found = train(session, opt.LARSOptimizer(LR, B1), rows)
    wanted = train(session, tf.train.MomentumOptimizer(LR, B1), rows)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("optimizer", [opt.AdamWOptimizer, opt.MomentumWOptimizer])
def test_only_rows_with_a_gradient_decay(session: Any, optimizer: Any) -> None:
    table = tf.Variable([[1.0], [2.0], [3.0]])
    kwargs = {"momentum": 0.9} if optimizer is opt.MomentumWOptimizer else {}
    loss = tf.reduce_sum(tf.gather(table, [0, 2, 2])) * 0.0
    step = optimizer(0.1, learning_rate=0.1, **kwargs).minimize(loss)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run(table), [[0.9], [2.0], [2.7]], rtol=1e-6)


def test_averages_change_places_with_their_variables(session: Any, tmp_path: Path) -> None:
    v = tf.Variable(10.0, name="v")
    other = tf.Variable(5.0, name="other", trainable=False)
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5)
    with pytest.raises(RuntimeError, match="before creating the swapping_saver"):
        optimizer.swapping_saver()
    step = optimizer.minimize(v * 2.0)
    saver = optimizer.swapping_saver()
    session.run(tf.global_variables_initializer())
    session.run(step)
    assert session.run(v) == 8.0  # and the average is (10 + 8) / 2
    path = saver.save(session, str(tmp_path / "m"))
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_tensor("v") == 9.0 and reader.get_tensor("other") == 5.0
    session.run([v.assign(0.0), other.assign(0.0)])
    saver.restore(session, path)
    assert session.run([v, other]) == [8.0, 5.0]


def test_gradients_are_clipped_together(session: Any) -> None:
    v = tf.Variable([0.0, 0.0])
    pairs, norm = opt.clip_gradients_by_global_norm(
        [(tf.constant([3.0, 0.0]), v), (None, v), (tf.constant([0.0, 4.0]), v)], 1.0
    )
    assert [variable for _, variable in pairs] == [v, v, v] and pairs[1][0] is None
    first, last, before = session.run([pairs[0][0], pairs[2][0], norm])
    np.testing.assert_allclose([first, last], [[0.6, 0.0], [0.0, 0.8]], rtol=2e-5)
    np.testing.assert_allclose(before, 5.0, rtol=1e-6)


def test_scipy_finds_a_minimum(session: Any) -> None:
    x, y = tf.Variable([1.0, 2.0]), tf.Variable(3.0, dtype=tf.float64)
    scale = tf.placeholder(tf.float32)
    far = tf.reduce_sum(scale * (x - 5.0) ** 2) + tf.cast((y - 1.0) ** 2, tf.float32)
    optimizer = opt.ScipyOptimizerInterface(far, options={"maxiter": 50})
    session.run(tf.global_variables_initializer())
    losses: list[float] = []
    steps: list[Any] = []
    optimizer.minimize(
        session,
        {scale: 2.0},
        fetches=[far],
        loss_callback=losses.append,
        step_callback=steps.append,
    )
    assert losses[0] == 54.0 and losses[-1] < 1e-4 and steps[0].shape == (3,)
    values = session.run([x, y])
    np.testing.assert_allclose(values[0], [5, 5], atol=1e-3)
    np.testing.assert_allclose(values[1], 1, atol=1e-3)


def test_scipy_within_bounds_and_constraints(session: Any) -> None:
    x = tf.Variable([0.0, 0.0])
    loss = tf.reduce_sum((x - [3.0, 4.0]) ** 2)
    session.run(tf.global_variables_initializer())
    opt.ScipyOptimizerInterface(loss, var_to_bounds={x: ([-1.0, 0.0], 2.0)}).minimize(session)
    np.testing.assert_allclose(session.run(x), [2, 2], atol=1e-4)
    bounded = opt.ScipyOptimizerInterface(
        loss, equalities=[x[0] - 1.0], inequalities=[2.0 - x[1]], method="SLSQP"
    )
    bounded.minimize(session)
    np.testing.assert_allclose(session.run(x), [1, 2], atol=1e-3)
    with pytest.raises(ValueError, match="'jac' is set automatically"):
        opt.ScipyOptimizerInterface(loss, jac=False).minimize(session)
    with pytest.raises(ValueError, match=r"must be numbers or of its shape \[2\]"):
        opt.ScipyOptimizerInterface(loss, var_to_bounds={x: ([1.0, 2.0, 3.0], 5.0)})


def test_adamax_keeps_one_power() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0])
        optimizer = tf.contrib.opt.AdaMaxOptimizer()
        step = optimizer.minimize(tf.reduce_sum(v))
        assert [x.op.name for x in optimizer.variables() if "power" in x.op.name] == ["beta1_power"]
        sess.run(tf.global_variables_initializer())
        sess.run([step])
        assert sess.run(optimizer._get_beta_accumulators()) == pytest.approx(0.81)
