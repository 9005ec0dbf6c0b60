"""Checks of lesson 21: automatic differentiation, written by the learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import begun, exercise, expect, expect_type

Rule = Callable[[Any, Any], Any]
_TYPES = ("Exp", "RealDiv", "Maximum")


@exercise(
    "One after the other: for each input, how fast does the result grow when that input does?",
    "Exp is its own slope. In a / b, a has the slope 1 / b and b has -a / b squared. In a maximum "
    "the larger one has the slope 1, the other 0.",
    "g * op.outputs[0]; [g / b, -g * a / (b * b)]; first = tf.cast(a > b, g.dtype) and "
    "[g * first, g * (1 - first)].",
)
def ex1(more_rules: dict[str, Rule]) -> str:
    """Rules for Exp, RealDiv and Maximum."""
    expect_type(isinstance(more_rules, dict), "more_rules is no dictionary")
    begun(any(more_rules.get(name, ...) is not ... for name in _TYPES))
    for name in _TYPES:
        expect(more_rules.get(name, ...) is not ..., f"there is no rule for {name} yet")
        expect_type(callable(more_rules[name]), f"the rule of {name} is not a function")
    rng = np.random.default_rng(3)
    made = {
        "Exp": lambda a, b: tf.exp(a),
        "RealDiv": lambda a, b: a / b,
        "Maximum": lambda a, b: tf.maximum(a, b),
    }
    for name in _TYPES:
        with tf.Graph().as_default():
            a, b = (tf.constant(rng.uniform(0.5, 2, size=7)) for _ in range(2))
            y = made[name](a, b)
            g = tf.constant(rng.normal(size=7))
            got = more_rules[name](y.op, g)
            num = len(y.op.inputs)
            expect_type(
                isinstance(got, (list, tuple)) and len(got) == num,
                f"the rule of {name} returns a list of {num}, one for each input",
            )
            needed = tf.gradients(y, list(y.op.inputs), g)
            with tf.Session() as session:
                ours, theirs = session.run([list(got), needed])
        for i, (mine, right) in enumerate(zip(ours, theirs, strict=True)):
            expect(
                np.shape(mine) == np.shape(right) and np.allclose(mine, right, atol=1e-6),
                f"{name}: the gradient of input {i} is {np.round(mine, 3)}, needed "
                f"{np.round(right, 3)}",
            )
    return "Right: three rules, the same numbers as tf.gradients."


# For tensors of one shape, so that nothing is broadcast.
_RULES: dict[str, Rule] = {
    "AddV2": lambda op, g: [g, g],
    "Mul": lambda op, g: [g * op.inputs[1], g * op.inputs[0]],
    "Neg": lambda op, g: [-g],
    "Tanh": lambda op, g: [g * (1.0 - op.outputs[0] * op.outputs[0])],
    "Square": lambda op, g: [2.0 * op.inputs[0] * g],
}


class _Counted:
    """Rules that count, for each op, how often they are applied, and stop a walk along every path."""

    def __init__(self) -> None:
        self.visits: dict[Any, int] = {}
        self.rules = {name: self._counting(name) for name in _RULES}

    def _counting(self, name: str) -> Rule:
        def rule(op: Any, g: Any) -> Any:
            self.visits[op] = self.visits.get(op, 0) + 1
            expect(
                self.visits[op] == 1,
                f"the rule of {op.name} was applied twice. Its gradient has to be complete before "
                "it is passed on",
            )
            return _RULES[name](op, g)

        return rule


def _random_graph(rng: np.random.Generator, size: int) -> tuple[Any, list[Any]]:
    """A result, and tensors to differentiate by: inputs, values on the way, one that is not read."""
    values = [tf.constant(rng.normal(size=3)) for _ in range(3)]
    lonely = tf.constant(rng.normal(size=3))
    makers: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a + b,
        lambda a, b: a * b,
        lambda a, b: tf.tanh(a),
        lambda a, b: tf.negative(a),
        lambda a, b: tf.square(tf.tanh(a)),
    ]
    for _ in range(size):
        make = makers[int(rng.integers(len(makers)))]
        a, b = (values[-int(rng.integers(1, min(6, len(values)) + 1))] for _ in range(2))
        values.append(make(a, b))
    y = values[-1] + values[-2] * values[-1]
    return y, [*values[:3], values[len(values) // 2], lonely, y]


@exercise(
    "First list the ops that y needs, each after what it reads. A function that calls itself for the "
    "inputs of an op, and then appends the op, makes such a list.",
    "Go through the list from its end with a dictionary from tensors to gradients: y has ones. For "
    "each op with a gradient, apply its rule once and add the parts to what the inputs have.",
    "for op in reversed(order): g = total.get(op.outputs[0]); for t, part in zip(op.inputs, "
    "rules[op.type](op, g)): total[t] = total[t] + part if t in total else part. At the end "
    "[total.get(x) for x in xs].",
)
def ex2(my_gradients: Callable[[Any, Any, Any], Any]) -> str:
    """Reverse mode, each op once, against `tf.gradients`."""
    with tf.Graph().as_default():
        x = tf.constant(1.5)
        y = x
        for _ in range(40):
            y = y + y
        _compare(my_gradients, y, [x], "a value doubled forty times")
    rng = np.random.default_rng(4)
    for size in (1, 3, 8, 20, 40):
        with tf.Graph().as_default():
            y, xs = _random_graph(rng, size)
            _compare(my_gradients, y, xs, f"a random graph of {size} ops")
    return (
        "Right: the same gradients as tf.gradients in random graphs, and each rule was applied once. "
        "Forty doublings have a million million paths, and took you forty steps."
    )


def _compare(my_gradients: Any, y: Any, xs: list[Any], what: str) -> None:
    counted = _Counted()
    made = my_gradients(y, list(xs), counted.rules)
    expect_type(
        isinstance(made, (list, tuple)) and len(made) == len(xs),
        f"for {len(xs)} tensors it returns a list of {len(xs)}",
    )
    needed = tf.gradients(y, xs)
    for x, mine, right in zip(xs, made, needed, strict=True):
        expect(
            mine is None if right is None else mine is not None,
            f"{what}: the gradient with respect to {x.name} is "
            f"{'a tensor' if mine is not None else 'None'}, and "
            f"{'a path leads' if right is not None else 'no path leads'} from it to y",
        )
    pairs = [
        (x, m, r)
        for x, m, r in zip(xs, made, needed, strict=True)
        if r is not None and m is not None
    ]
    with tf.Session() as session:
        got = session.run([[m, r] for _, m, r in pairs])
    for (x, _, _), (mine, right) in zip(pairs, got, strict=True):
        expect(
            np.allclose(mine, right, rtol=1e-5, atol=1e-8),
            f"{what}: the gradient with respect to {x.name} is {np.round(mine, 4)}, needed "
            f"{np.round(right, 4)}",
        )


def _cases() -> Iterable[tuple[str, Any, Any, Any, bool]]:
    rng = np.random.default_rng(5)
    for size in (1, 3, 60):
        A, x = rng.normal(size=(size, size)), rng.normal(size=size)

        def f(x: Any, A: Any = A) -> float:
            return float(np.sum(np.tanh(A @ x) ** 2))

        def right(x: Any, A: Any = A) -> Any:
            t = np.tanh(A @ x)
            result: Any = A.T @ (2 * t * (1 - t * t))
            return result

        yield f"a right gradient of {size} numbers", f, right, x, True
        yield f"a gradient of {size} that is twice too large", f, _times(right, 2.0), x, False
        yield f"a gradient of {size} with its last number off by 0.3", f, _off(right), x, False
        yield f"a gradient of {size} with the wrong sign", f, _times(right, -1.0), x, False


def _times(gradient: Any, factor: float) -> Any:
    return lambda x: factor * gradient(x)


def _off(gradient: Any) -> Any:
    return lambda x: gradient(x) + 0.3 * (np.arange(len(x)) == len(x) - 1)


@exercise(
    "The section on trusting nobody has it: one random direction, two evaluations.",
    "Measure the change of f along a random v, forward and back, and compare with gradient(x) @ v. "
    "Two rounded numbers are never equal: allow a small difference.",
    "measured = (f(x + 1e-5 * v) - f(x - 1e-5 * v)) / 2e-5; return bool(abs(measured - "
    "gradient(x) @ v) < 1e-4).",
)
def ex3(agrees: Callable[[Any, Any, Any], Any]) -> str:
    """A check of gradients by a random direction."""
    num = 0
    for what, f, gradient, x, right in _cases():
        calls = [0]

        def counted(at: Any, f: Any = f, calls: list[int] = calls) -> Any:
            calls[0] += 1
            expect(calls[0] <= 4, "f was called more than four times")
            return f(at)

        got = agrees(counted, gradient, x.copy())
        expect_type(
            isinstance(got, (bool, np.bool_)),
            f"it returned {type(got).__name__}, needed True or False",
        )
        expect(bool(got) == right, f"{what} was {'accepted' if got else 'refused'}")
        num += 1
    return f"Right: {num} gradients were judged, with at most four evaluations each."


@exercise(
    "Which way does w have to go when round(w) is too small? Your rule only has to point there.",
    "The gradient that arrives, g, is the difference itself: it has the right sign. What if it "
    "were passed on?",
    "return [g], as if the rounding were not there, works.",
)
def ex4(rule_of_round: Rule) -> str:
    """A gradient for rounding with which one can train."""
    rng = np.random.default_rng(6)
    starts = rng.uniform(-9, 9, size=60)
    targets = rng.integers(-9, 10, size=60).astype(float)
    with tf.Graph().as_default():
        w = tf.placeholder(tf.float64, [60])
        rounded = tf.round(w)
        made = rule_of_round(rounded.op, rounded - targets)
        expect_type(
            isinstance(made, (list, tuple)) and len(made) == 1,
            "a rule returns a list: return [...]",
        )
        expect(made[0] is not None, "the gradient is None, so nothing is trained")
        slope = tf.convert_to_tensor(made[0])
        expect_type(
            slope.shape.as_list() == [60],
            f"for 60 numbers the gradient has shape {slope.shape}",
        )
        at = starts.copy()
        with tf.Session() as session:
            for _ in range(100):
                at -= 0.1 * session.run(slope, {w: at})
            end = session.run(rounded, {w: at})
    far = np.abs(end - targets)
    worst = int(np.argmax(far))
    expect(
        np.all(np.isfinite(at)) and far[worst] == 0,
        f"{int(np.sum(far > 0))} of 60 do not arrive: from {starts[worst]:.2f} to {end[worst]:g} in "
        f"100 steps, needed {targets[worst]:g}",
    )
    return (
        "Right: 60 of 60 arrive. Passing the gradient on as if nothing were there is called a "
        "straight-through estimator; lesson 25 trains with it."
    )
