"""Checks of capstone 2: a compiler pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, wrong

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.1, 2.5, 7.0, 1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan)
_RUNS = 5  # a plan is rewritten from its third run on


def _plain() -> Any:
    """A session that runs the graph as it was written."""
    level = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    return tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=level)))


def _same_bits(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _equation(rule: Any) -> str:
    return (rule.__doc__ or "").strip().splitlines()[0].strip() if rule.__doc__ else ""


def _is_rule(rule: Any) -> None:
    """The function that a decorator registered, and not one beside it."""
    known = tf.extend.rules().get(getattr(rule, "__name__", ""))
    expect(
        known is not None and known[0] is rule,
        f"{getattr(rule, '__name__', type(rule).__name__)} is no rule yet: put @tf.extend.rewrite(...) with the op types "
        "that it looks at above the function, and run the cell again",
    )


def _hits(told: Any, rule: Any) -> list[dict[str, Any]]:
    return [hit for hit in told.journal if hit["rule"] == rule.__name__]


@exercise(
    "A rule gets the tensor of an Abs. Its input is t.op.inputs[0]; what op made that one?",
    "Two questions: is the input made by a Neg, and if so, of what? Everything else is not your business.",
    'inner = t.op.inputs[0]; if inner.op.type == "Neg": return tf.abs(inner.op.inputs[0]); else return None.',
)
def ex1(rule: Callable[[Any], Any]) -> str:
    """abs(-x) -> abs(x): fires where it should, keeps every bit, and leaves the rest alone."""
    _is_rule(rule)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        negative = tf.negative(x, name="minus")
        y = tf.abs(negative)
        # Names say nothing of what a node does.
        others = [tf.abs(x), tf.abs(tf.exp(x, name="Neg")), tf.negative(tf.abs(x))]
        with tf.Session() as session, _plain() as plain:
            told = session.explain(y)
            expect(
                _hits(told, rule),
                f"in the plan of abs(-x) the rule {rule.__name__} did not fire; "
                f"what did: {[hit['equation'] for hit in told.journal] or 'nothing'}",
            )
            left = [node["op"] for node in told.after]
            expect("Neg" not in left, f"it fired, and left {', '.join(left)}")
            expect("->" in _equation(rule), "the first line of its docstring is no equation a -> b")
            for other in others:
                told = session.explain(other)
                expect(not _hits(told, rule), f"it fired at {other.op.name}, which is no abs(-x)")
            value = np.array(_SPECIAL, np.float32)
            for _ in range(_RUNS):
                got = session.run([y, negative], {x: value})
            needed = plain.run([y, negative], {x: value})
            for name, a, b in zip(("abs(-x)", "-x, fetched beside it"), got, needed, strict=True):
                expect(_same_bits(a, b), f"{name} of {value} became {a}, needed {b}")
    return "Right: the negation goes, every bit stays, and nothing else is touched."


_LIARS: dict[str, tuple[Any, Any]] = {
    "sqrt(square(x)) -> abs(x)": (lambda x: tf.sqrt(tf.square(x)), tf.abs),
    "x * 0 -> 0": (lambda x: x * 0.0, tf.zeros_like),
    "x - x -> 0": (lambda x: x - x, tf.zeros_like),
    "x + 0 -> x": (lambda x: x + 0.0, tf.identity),
    "(x + 1) - 1 -> x": (lambda x: (x + 1.0) - 1.0, tf.identity),
    "log(exp(x)) -> x": (lambda x: tf.log(tf.exp(x)), tf.identity),
}
_HONEST: dict[str, tuple[Any, Any]] = {
    "-(-x) -> x": (lambda x: tf.negative(tf.negative(x)), tf.identity),
    "x * 1 -> x": (lambda x: x * 1.0, tf.identity),
    "x + x -> 2 * x": (lambda x: x + x, lambda x: 2.0 * x),
    "relu6(relu(x)) -> relu6(x)": (lambda x: tf.nn.relu6(tf.nn.relu(x)), tf.nn.relu6),
}


@exercise(
    "Which numbers are special to a float? Try them before any others.",
    "Zero has two signs, infinity minus infinity is no number, squares overflow, and small numbers vanish beside "
    "1. Equal is not enough: -0.0 == 0.0.",
    "Run before and after on np.float32([0.0, -0.0, 1e30, 1e-30, inf, -inf, nan, 0.1, ...]) and compare tobytes().",
)
def ex2(counterexample: Callable[[Any, Any], Any]) -> str:
    """Finds the input that gives a wrong rule away, and none for a right one."""
    for equation, (before, after) in (_LIARS | _HONEST).items():
        with tf.Graph().as_default():
            value = counterexample(before, after)
        if equation in _HONEST:
            expect(value is None, f"{equation} keeps every bit, and {value!r} is given against it")
            continue
        expect(value is not None, f"nothing was found against {equation}, which changes some bits")
        with tf.Graph().as_default(), _plain() as plain:
            x = tf.constant(value, tf.float32)
            left, right = plain.run([before(x), after(x)])
        expect(
            not _same_bits(left, right),
            f"{value!r} does not contradict {equation}: both sides are {left}",
        )
    return f"Right: {len(_LIARS)} rules were found out, and {len(_HONEST)} were left in peace."


def _has_all_placeholders(graph: Any, placeholders: Any) -> None:
    """What `example` returns second is the list of all placeholders, whose number of axes is known."""
    expect_type(
        isinstance(placeholders, (tuple, list))
        and all(isinstance(p, tf.Tensor) for p in placeholders),
        f"the second of the pair is {placeholders!r}, needed a list of the placeholders, such as [x]",
    )
    given = {p.op.name for p in placeholders}
    for op in graph.get_operations():
        expect_type(
            "Variable" not in op.type and op.type != "VarHandleOp",
            f"example has the variable {op.name}, whose value the check does not know; use placeholders",
        )
        if op.type == "Placeholder":
            expect_type(
                op.name in given,
                f"the placeholder {op.name} is not in the list that example returns",
            )
            expect_type(
                op.outputs[0].shape.rank is not None,
                f"the placeholder {op.name} has no shape; give it one, such as [None, 3]",
            )


def _feeds(placeholders: list[Any], rng: Any) -> dict[Any, Any]:
    """Values for placeholders: a size for each unknown dimension, special numbers among random ones."""
    size = int(rng.integers(0, 5))
    feeds = {}
    for placeholder in placeholders:
        shape = [size if n is None else n for n in placeholder.shape.as_list()]
        dtype = placeholder.dtype.as_numpy_dtype
        if np.dtype(dtype).kind == "f":
            value = np.where(
                rng.random(shape) < 0.5, rng.choice(_SPECIAL, shape), rng.normal(size=shape)
            )
        else:
            value = rng.integers(0, 2 if dtype is np.bool_ else 5, shape)
        feeds[placeholder] = np.asarray(value).astype(dtype)
    return feeds


@exercise(
    "Look for two operations in a row where one already does the other's work, or undoes it.",
    "State it as an equation, ask your own counterexample about it, and check what the engine does already: "
    "sess.explain(...).journal.",
    "For example relu6(relu(x)) -> relu6(x): look at a Relu6, return tf.nn.relu6 of what the Relu reads.",
)
def ex3(rule: Callable[[Any], Any], example: Callable[[], Any]) -> str:
    """A rule of the learner's own: it fires, the plan is smaller, and no bit changes."""
    _is_rule(rule)
    equation = _equation(rule)
    expect("->" in equation, "the first line of the rule's docstring is no equation a -> b")
    with tf.Graph().as_default() as graph:
        built = example()
        expect_type(
            isinstance(built, (tuple, list))
            and len(built) == 2
            and isinstance(built[0], tf.Tensor),
            "example returns a pair: what to fetch, and a list of the placeholders",
        )
        fetch, placeholders = built
        _has_all_placeholders(graph, placeholders)
        expect(
            not any(
                op.type == "Abs" and op.inputs[0].op.type == "Neg" for op in graph.get_operations()
            ),
            "that is the rule of milestone 1; find one of your own",
        )
        with tf.Session() as session, _plain() as plain:
            told = session.explain(fetch)
            expect(
                _hits(told, rule),
                f"in the plan of your example {rule.__name__} did not fire; "
                f"what did: {[hit['equation'] for hit in told.journal] or 'nothing'}",
            )
            alone = plain.explain(fetch)
            # What it saves beyond the others: the same plan when the rule looks away.
            without = _without(rule, fetch)
            saved = len(without.after) - len(told.after)
            expect(
                saved > 0,
                f"with the rule the plan has {len(told.after)} nodes, without it {len(without.after)}: "
                "it saves nothing that the engine does not save already",
            )
            rng = np.random.default_rng(0)
            for _ in range(30):
                feeds = _feeds(list(placeholders), rng)
                for _ in range(_RUNS):
                    got = session.run(fetch, feeds)
                needed = plain.run(fetch, feeds)
                if not _same_bits(got, needed):
                    wrong(
                        f"for {[v.tolist() for v in feeds.values()]} the rewritten plan gives "
                        f"{np.asarray(got).tolist()}, and the graph as written {np.asarray(needed).tolist()}"
                    )
    return (
        f"Right: {equation} makes {len(told.after)} nodes of {len(without.after)} "
        f"({len(alone.before)} as written), and thirty runs keep every bit."
    )


def _without(rule: Any, fetch: Any) -> Any:
    """What the plan would be without the rule."""
    op_types = tf.extend.rules()[rule.__name__][1]
    tf.extend.remove(rule)
    try:
        with tf.Session() as session:
            return session.explain(fetch)
    finally:
        tf.extend.rewrite(*op_types)(rule)


@exercise(
    "told.steps are the rewrites in order, the first of them pruning; each has an equation.",
    "Steps are counted from 1, as in the player. What does enumerate count from?",
    "next(i for i, step in enumerate(told.steps, start=1) if step.equation == equation), or None.",
)
def ex4(step_of: Callable[[Any, str], Any]) -> str:
    """The number of the step that a rewrite is, in any plan."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        unused = tf.exp(x)
        y = tf.negative(tf.negative(tf.sqrt(x * 1.0))) + (tf.constant(1.0) + 2.0)
        with tf.Session() as session:
            # The last has each equation twice.
            plans = [session.explain(f) for f in (y, unused, tf.nn.relu(tf.nn.relu(x)), y)]
            plans[-1].steps.extend(plans[-1].steps[1:])
            for told in plans:
                equations = [step.equation for step in told.steps]
                for equation in [*equations, equations[0][:-1], "a rewrite that is not there"]:
                    got = step_of(told, equation)
                    needed = equations.index(equation) + 1 if equation in equations else None
                    expect(
                        got == needed and got is not True,
                        f"the steps are {equations}; for {equation!r} it gives {got!r}, needed {needed}",
                    )
    return "Right: told.time_saved(step_of(told, equation)) now measures any rewrite."
