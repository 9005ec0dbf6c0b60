"""An op that raises leaves every variable as it was: none is half assigned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import all_ops

ROWS, WIDTH = 6000, 8  # more than one block of the kernels that work in blocks

#: Ops with a reference input that assign nothing of a shape of the caller's.
NO_VALUE = {
    "AssignVariableOp",  # as in TensorFlow 1.15, it takes a value of any shape in a run
    "CountUpTo",
    "DestroyResourceOp",
    "DestroyTemporaryVariable",
    "DisableCopyOnRead",
    "IsVariableInitialized",
    "RefEnter",
    "RefExit",
    "RefMerge",
    "RefNextIteration",
    "RefSwitch",
    "ResourceCountUpTo",
    "VarIsInitializedOp",
    "_UpdateAll",  # of several variables: see tests/rewrites/test_multi_tensor_updates.py
}
#: Inputs that hold an update with the variable's shape (or rows of it).
VALUES = {"value", "updates", "grad", "delta"}

ASSIGNING = {
    name: op
    for name, op in all_ops().items()
    if any(a.is_ref for a in op.inputs) and name not in NO_VALUE
}


def build(op: OpDef) -> tuple[Any, list[Any], dict[str, Any]]:
    """The node, the variables that it may change, and placeholders for values and indices."""
    rng = np.random.default_rng(0)
    variables, fed, arguments = [], {}, []
    for spec in op.inputs:
        if spec.is_ref:
            start = rng.uniform(0.5, 1.5, (ROWS, WIDTH)).astype(np.float32)
            variable = tf.Variable(start, use_resource=spec.is_handle)
            variables.append(variable)
            arguments.append(variable.handle if spec.is_handle else variable._ref())
        elif spec.name in VALUES:
            fed[spec.name] = tf.placeholder(tf.float32)
            arguments.append(fed[spec.name])
        elif spec.name == "indices":
            fed["indices"] = tf.placeholder(tf.int32)
            arguments.append(fed["indices"])
        elif spec.name in ("begin", "end", "strides"):
            arguments.append({"begin": [0, 0], "end": [3, WIDTH], "strides": [1, 1]}[spec.name])
        elif spec.name == "global_step":
            arguments.append(tf.constant(1, tf.int64))
        else:
            arguments.append(tf.constant(0.5))
    node = op(*arguments)
    return getattr(node, "op", node), variables, fed


def check(op: OpDef, feeds: list[dict[str, Any]], good: dict[str, Any]) -> None:
    """Every one of ``feeds`` fails and changes nothing; ``good`` changes something."""
    with tf.Graph().as_default():
        node, variables, fed = build(op)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            before = session.run(variables)
            for values in feeds:
                with pytest.raises(tf.errors.OpError, match=node.name):
                    session.run(node, {fed[k]: v for k, v in values.items()})
                for old, new in zip(before, session.run(variables), strict=True):
                    assert old.tobytes() == new.tobytes()
            session.run(node, {fed[k]: v for k, v in good.items()})
            after = session.run(variables)
            assert any(not np.array_equal(o, n) for o, n in zip(before, after, strict=True))


INDEXED = [n for n, op in ASSIGNING.items() if any(a.name == "indices" for a in op.inputs)]
WHOLE = [n for n in ASSIGNING if n not in INDEXED]


@pytest.mark.parametrize("name", INDEXED)
def test_a_bad_index_or_shape(name: str) -> None:
    op = ASSIGNING[name]
    value = next(a.name for a in op.inputs if a.name in VALUES)
    rows = np.tile(np.float32([0.25, 4.0]), (3, WIDTH // 2))  # below and above what is there
    nested = name.startswith(("ScatterNd", "ResourceScatterNd"))

    def indices(*numbers: int) -> Any:
        return [[n] for n in numbers] if nested else list(numbers)

    check(
        op,
        [
            {"indices": indices(0, 1, ROWS), value: rows},  # the bad one is the last
            {"indices": indices(0, -1, 2), value: rows},
            {"indices": indices(0, 1, 2), value: rows[:2]},
            {"indices": indices(0, 1, 2), value: rows[:, :5]},
        ],
        {"indices": indices(0, 1, 2), value: rows},
    )


@pytest.mark.parametrize("name", WHOLE)
def test_a_shape_that_does_not_fit(name: str) -> None:
    op = ASSIGNING[name]
    value = next(a.name for a in op.inputs if a.name in VALUES)
    shape = (3, WIDTH) if name.endswith("StridedSliceAssign") else (ROWS, WIDTH)
    good = np.full(shape, 0.25, np.float32)
    check(op, [{value: good[:2]}, {value: good[:, :5]}, {value: good[0, :3]}], {value: good})


def test_counting_past_the_limit_stays_at_the_limit() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0)
        step = tf.count_up_to(v, 2)
        session.run(v.initializer)
        assert [session.run(step), session.run(step)] == [0, 1]
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(step)
        assert session.run(v) == 2


def test_a_failing_input_leaves_all_variables_of_a_group() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
        checked = tf.check_numerics(x, "the feed")
        train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(checked, v), (checked, w)])
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="the feed"):
            session.run(train, {x: [1.0, np.nan]})
        np.testing.assert_array_equal(session.run([v, w]), [[1, 2], [3, 4]])
