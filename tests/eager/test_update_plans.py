"""Steps of optimizers come from one plan, and are those that are made operation by operation."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager import context
from dataflow.train import update_plans

TIMES = 5  # the first step is made operation by operation, the second one makes the plan

TRAIN: dict[str, Callable[[Any], Any]] = {
    "descent": lambda rate: tf.train.GradientDescentOptimizer(rate),
    "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    "nesterov": lambda rate: tf.train.MomentumOptimizer(rate, 0.8, use_nesterov=True),
    "adam": lambda rate: tf.train.AdamOptimizer(rate),
    "adagrad": lambda rate: tf.train.AdagradOptimizer(rate),
    "adadelta": lambda rate: tf.train.AdadeltaOptimizer(rate),
    "ftrl": lambda rate: tf.train.FtrlOptimizer(rate, l1_regularization_strength=0.01),
    "shrinkage": lambda rate: tf.train.FtrlOptimizer(
        rate, l2_shrinkage_regularization_strength=0.1
    ),
    "rmsprop": lambda rate: tf.train.RMSPropOptimizer(rate),
    "centered": lambda rate: tf.train.RMSPropOptimizer(rate, momentum=0.5, centered=True),
    "proximal": lambda rate: tf.train.ProximalGradientDescentOptimizer(rate, 0.01, 0.02),
    "proximal_adagrad": lambda rate: tf.train.ProximalAdagradOptimizer(
        rate, l1_regularization_strength=0.01
    ),
}
KERAS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda rate: tf.keras.optimizers.SGD(rate),
    "sgd_momentum": lambda rate: tf.keras.optimizers.SGD(rate, momentum=0.9, nesterov=True),
    "decay": lambda rate: tf.keras.optimizers.SGD(rate, decay=0.1),
    "adam": lambda rate: tf.keras.optimizers.Adam(rate),
    "amsgrad": lambda rate: tf.keras.optimizers.Adam(rate, amsgrad=True),
    "adamax": lambda rate: tf.keras.optimizers.Adamax(rate),
    "nadam": lambda rate: tf.keras.optimizers.Nadam(rate),
    "adagrad": lambda rate: tf.keras.optimizers.Adagrad(rate),
    "adadelta": lambda rate: tf.keras.optimizers.Adadelta(rate),
    "rmsprop": lambda rate: tf.keras.optimizers.RMSprop(rate, momentum=0.3, centered=True),
    "ftrl": lambda rate: tf.keras.optimizers.Ftrl(rate),
}
RATES = (0.1, 0.1, 0.05, 0.2, 0.05)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each step whether a plan made it."""
    found: list[bool] = []
    run = update_plans.StepKind.run

    def noted(self: Any, *args: Any) -> bool:
        found.append(run(self, *args))
        return found[-1]

    monkeypatch.setattr(update_plans.StepKind, "run", noted)
    return found


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def rows(step: int) -> tuple[Any, Any]:
    """Values and indices of a sparse gradient, of which one row is named twice, and one more in time."""
    count = 3 if step < 3 else 4
    return numbers(count, 2, seed=step), np.array([0, 3, 0, 1][:count])


def gradients(step: int) -> list[Any]:
    values, indices = rows(step)
    sparse = tf.IndexedSlices(tf.constant(values), tf.constant(indices), tf.constant([5, 2]))
    return [tf.constant(numbers(3, 4, seed=step)), tf.constant(numbers(1, seed=step)[0]), sparse]


def variables() -> list[Any]:
    values = (numbers(3, 4, seed=50), numbers(1, seed=51)[0], numbers(5, 2, seed=52), np.float32(7))
    return [tf.Variable(v, use_resource=True, name=f"v{i}") for i, v in enumerate(values)]


def in_a_graph(make: Any) -> list[Any]:
    """The variables after each step of an optimizer in a graph."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as sess:
        rate = tf.placeholder(tf.float32, [])
        optimizer = make(rate)
        made = variables()
        given = [tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [])]
        values, indices = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
        sparse = tf.IndexedSlices(values, indices, tf.constant([5, 2]))
        step = optimizer.apply_gradients(zip([*given, sparse, None], made, strict=True))
        sess.run(tf.global_variables_initializer())
        found = []
        for i in range(TIMES):
            feeds = {given[0]: numbers(3, 4, seed=i), given[1]: numbers(1, seed=i)[0]}
            values_now, indices_now = rows(i)
            feeds |= {values: values_now, indices: indices_now, rate: RATES[i]}
            sess.run(step, feeds)
            found.append(sess.run(made))
        return found


def check(make: Any, planned: list[bool]) -> None:
    wanted = in_a_graph(make)
    del planned[:]
    rates = iter(RATES)
    optimizer = make(lambda: next(rates))  # asked once at each step
    made = variables()
    for i in range(TIMES):
        optimizer.apply_gradients(zip([*gradients(i), None], made, strict=True))
        for variable, value in zip(made, wanted[i], strict=True):
            np.testing.assert_allclose(variable.numpy(), value, rtol=2e-5, atol=1e-6)
    assert planned == [False, True, True, True, True]
    assert next(rates, None) is None


@pytest.mark.parametrize("name", TRAIN)
def test_optimizers_of_tf_train(name: str, planned: list[bool]) -> None:
    check(TRAIN[name], planned)


@pytest.mark.parametrize("name", KERAS)
def test_optimizers_of_keras(name: str, planned: list[bool], monkeypatch: Any) -> None:
    if name != "nadam":
        check(KERAS[name], planned)
        return
    # Its rate cannot be a function: what is made operation by operation stands for the graph.
    found = [same_steps(KERAS[name](0.1), variables()) for _ in range(2)]
    assert planned[:TIMES] == [False, True, True, True, True]
    monkeypatch.setattr(update_plans, "kind_of", lambda *_: None)
    found.append(same_steps(KERAS[name](0.1), variables()))
    for values in found[1:]:
        for a, b in zip(found[0], values, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def same_steps(optimizer: Any, made: list[Any]) -> list[Any]:
    for i in range(TIMES):
        optimizer.apply_gradients(zip([*gradients(i), None], made, strict=True))
    return [v.numpy() for v in made]


def one_step(optimizer: Any, variable: Any, gradient: Any = 1.0) -> Any:
    """How far the variable moved."""
    before = variable.numpy()
    optimizer.apply_gradients([(tf.constant(gradient), variable)])
    return variable.numpy() - before


def test_settings_may_change_between_steps(planned: list[bool]) -> None:
    v = tf.Variable(10.0)
    rate = tf.Variable(0.5)
    for optimizer, change in (
        (tf.train.GradientDescentOptimizer(0.5), lambda o, r: setattr(o, "_learning_rate", r)),
        (tf.train.GradientDescentOptimizer(rate), lambda o, r: rate.assign(r)),
        (tf.keras.optimizers.SGD(0.5), lambda o, r: setattr(o, "lr", r)),
        (tf.keras.optimizers.SGD(0.5), lambda o, r: o.learning_rate.assign(r)),
    ):
        del planned[:]
        moved = [one_step(optimizer, v)]
        for i in range(12):
            change(optimizer, 0.25 * i)
            moved.append(one_step(optimizer, v))
        np.testing.assert_allclose(moved, [-0.5, *(-0.25 * i for i in range(12))], atol=1e-5)
        assert planned == [False] + [True] * 12


def test_settings_that_are_built_in_make_other_plans(planned: list[bool]) -> None:
    v = tf.Variable(10.0)
    optimizer = tf.train.MomentumOptimizer(1.0, 0.5)
    found = [one_step(optimizer, v) for _ in range(3)]
    optimizer._use_nesterov = True
    found += [one_step(optimizer, v) for _ in range(2)]
    np.testing.assert_allclose(found, [-1, -1.5, -1.75, -1.9375, -1.96875], rtol=1e-5)
    assert planned == [False] + [True] * 4


def test_a_setting_that_differs_each_time_is_left_to_single_operations(planned: list[bool]) -> None:
    v = tf.Variable(10.0)
    optimizer = tf.keras.optimizers.Adam(0.1)
    for i in range(20):
        optimizer.epsilon = 10.0**-i
        one_step(optimizer, v)
    assert planned.count(True) == update_plans._MOST_PLANS - 1 and not any(planned[10:])


def test_a_schedule_follows_the_steps(planned: list[bool]) -> None:
    v = tf.Variable(10.0)
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([1, 3], [1.0, 0.5, 0.25])
    optimizer = tf.keras.optimizers.SGD(schedule)
    found = [one_step(optimizer, v) for _ in range(6)]
    np.testing.assert_allclose(found, [-1, -1, -0.5, -0.5, -0.25, -0.25])
    assert planned == [False] + [True] * 5 and optimizer.iterations.numpy() == 6


class Halves(tf.keras.optimizers.schedules.LearningRateSchedule):
    calls = 0

    def __call__(self, step: Any) -> Any:
        self.calls += 1
        return 0.5 ** (self.calls - 1)

    def get_config(self) -> Any:
        return {}


class Plain(tf.train.GradientDescentOptimizer):
    def _apply_dense(self, grad: Any, var: Any) -> Any:
        var.assign_sub(grad)
        self.calls = getattr(self, "calls", 0) + 1

    _resource_apply_dense = _apply_dense


def test_what_runs_code_of_the_program_runs_it_at_each_step() -> None:
    v = tf.Variable(10.0)
    found = [one_step(tf.keras.optimizers.SGD(Halves()), v)]
    optimizer: Any = tf.keras.optimizers.SGD(Halves())
    found = [one_step(optimizer, v) for _ in range(4)]
    np.testing.assert_allclose(found, [-1, -0.5, -0.25, -0.125])
    optimizer = Plain(1.0)
    assert [one_step(optimizer, v) for _ in range(4)] == [-1] * 4 and optimizer.calls == 4
    asked = []

    def positive(value: Any) -> Any:
        asked.append(1)
        return tf.maximum(value, 0.0)

    w = tf.Variable(2.0, constraint=positive)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    assert [one_step(optimizer, w) for _ in range(4)] == [-1, -1, 0, 0] and len(asked) == 4


def test_new_variables_and_fewer_gradients_in_between(planned: list[bool]) -> None:
    a, b = tf.Variable(0.0), tf.Variable([0.0, 0.0])
    optimizer = tf.train.AdagradOptimizer(1.0, initial_accumulator_value=0.0001)
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(1.0), a)])
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(1.0), a), (tf.constant([1.0, 2.0]), b)])
    for _ in range(2):
        optimizer.apply_gradients([(tf.constant(1.0), a), (None, b)])
    assert planned == [False, True, True, False, True, True, True, True]
    wanted = -sum(1 / np.sqrt(0.0001 + i) for i in range(1, 9))
    np.testing.assert_allclose(a.numpy(), wanted, rtol=1e-5)
    wanted = -sum(1 / np.sqrt(0.0001 + i) for i in range(1, 4))
    np.testing.assert_allclose(b.numpy()[0], wanted, rtol=1e-5)


def test_a_variable_that_is_named_twice_is_changed_twice() -> None:
    v = tf.Variable(0.0)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    for i in range(1, 5):
        optimizer.apply_gradients([(tf.constant(1.0), v), (tf.constant(2.0), v)])
        assert v.numpy() == -3 * i


def test_two_optimizers_of_the_same_variables(planned: list[bool]) -> None:
    v = tf.Variable(0.0)
    first, second = tf.train.MomentumOptimizer(1.0, 1.0), tf.train.MomentumOptimizer(1.0, 0.0)
    found = [(one_step(first, v), one_step(second, v)) for _ in range(4)]
    assert found == [(-1, -1), (-2, -1), (-3, -1), (-4, -1)]
    assert planned == [False, False] + [True] * 6


def test_the_global_step_is_counted(planned: list[bool]) -> None:
    v, step = tf.Variable(0.0), tf.train.get_or_create_global_step()
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    for i in range(1, 5):
        assert optimizer.minimize(lambda: 3.0 * v, global_step=step) is None
        assert step.numpy() == i and v.numpy() == -3 * i
    assert planned == [False, True, True, True]


@pytest.mark.threads
def test_threads_share_an_optimizer(planned: list[bool]) -> None:
    made = [tf.Variable(np.zeros(100, np.float32)) for _ in range(4)]
    optimizer = tf.train.GradientDescentOptimizer(1.0)

    def work(variable: Any) -> None:
        with context.eager_mode():
            for _ in range(50):
                optimizer.apply_gradients([(tf.ones([100]), variable)])

    threads = [threading.Thread(target=work, args=(v,)) for v in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for variable in made:
        np.testing.assert_array_equal(variable.numpy(), np.full(100, -50))
    assert planned.count(True) == 4 * 49


@pytest.mark.parametrize("make", [TRAIN["adam"], KERAS["adam"]])
def test_nothing_is_kept(make: Any, planned: list[bool]) -> None:
    optimizer = make(0.1)
    for _ in range(3):
        v = tf.Variable([1.0, 2.0])
        for _ in range(3):
            one_step(optimizer, v, [1.0, 1.0])
    assert planned == [False, True, True] * 3
    inner = getattr(optimizer, "_steps", optimizer)
    gone = weakref.ref(v), weakref.ref(optimizer), weakref.ref(inner)
    kinds = update_plans._kinds_by_optimizer[inner]
    assert len(kinds) == 1  # the plans of the others went with their variables
    del v
    gc.collect()
    assert gone[0]() is None and not kinds
    del optimizer, inner
    gc.collect()
    assert gone[1]() is None and gone[2]() is None


def test_slots_that_were_thrown_away_are_made_anew() -> None:
    v = tf.Variable(0.0)
    optimizer = tf.train.MomentumOptimizer(1.0, 1.0)
    assert [one_step(optimizer, v) for _ in range(3)] == [-1, -2, -3]
    optimizer._slots.clear()
    gc.collect()
    assert [one_step(optimizer, v) for _ in range(3)] == [-1, -2, -3]


def test_errors_are_those_of_the_first_step() -> None:
    table = tf.Variable(np.zeros([3, 2], np.float32))
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    for _ in range(3):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="ApplyGradient"):
            optimizer.apply_gradients([(tf.constant([1.0, 2.0]), table)])
    for row in (1, 2, 1, 7):
        sparse = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([row]))
        if row < 3:
            optimizer.apply_gradients([(sparse, table)])
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
                optimizer.apply_gradients([(sparse, table)])
    np.testing.assert_array_equal(table.numpy(), [[0, 0], [-2, -4], [-1, -2]])


def test_within_a_tape_the_step_is_recorded(planned: list[bool]) -> None:
    v = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    for i in range(3):
        with tf.GradientTape() as tape:
            loss = v * v
            optimizer.apply_gradients([(tf.constant(1.0), v)])
        assert tape.gradient(loss, v).numpy() == 2 * (1 - i)
    assert planned == []


def test_a_decayed_rate_is_asked_at_each_step(planned: list[bool]) -> None:
    v, step = tf.Variable(0.0), tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    found = []
    for _ in range(4):
        before = v.numpy()
        optimizer.apply_gradients([(tf.constant(1.0), v)], global_step=step)
        found.append(v.numpy() - before)
    assert found == [-1, -0.5, -0.25, -0.125] and planned == [False, True, True, True]
    with pytest.raises(ValueError, match="global_step is required"):
        tf.train.natural_exp_decay(1.0, None, 1, 0.5)
    np.testing.assert_allclose(tf.train.natural_exp_decay(1.0, 2, 1, 0.5)().numpy(), np.exp(-1))
    for schedule in (
        tf.train.piecewise_constant(step, [2], [1.0, 0.5]),
        tf.train.inverse_time_decay(1.0, step, 4, 1.0),
    ):
        assert schedule().numpy() == 0.5
    nested = tf.keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    assert nested(2).numpy() == 0.25


def test_minimize_of_keras_s_optimizers() -> None:
    v, w = tf.Variable(3.0), tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(0.5, clipvalue=1.0)
    for i in range(1, 4):
        optimizer.minimize(lambda: 10.0 * v, [v, w])
        assert v.numpy() == 3 - 0.5 * i and w.numpy() == 1
    optimizer.minimize(lambda: 10.0 * w, lambda: [w])
    assert w.numpy() == 0.5 and optimizer.iterations.numpy() == 4
