"""Variables made with ``use_resource``; tests/oracle/programs/resource_variables.py compares them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.disable_resource_variables()


def test_a_use_reads_after_its_control_dependencies() -> None:
    """A reference variable has one node that reads it, which need not wait."""
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        y = v * 2.0
    changed = v.assign_sub([1.0, 1.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [4.0, 6.0]
        assert session.run(changed).tolist() == [1.0, 2.0]
        assert session.run(changed.read_value()).tolist() == [0.0, 1.0]
        assert session.run(v).tolist() == [0.0, 1.0]
    assert changed.op.type == "AssignSubVariableOp"


def test_who_says_that_a_variable_is_a_resource() -> None:
    with tf.variable_scope("s", use_resource=True):
        kinds = [tf.get_variable("a", []), tf.Variable(0.0), tf.Variable(0.0, use_resource=False)]
    tf.enable_resource_variables()
    kinds.append(tf.Variable(0.0))
    tf.disable_resource_variables()
    kinds.append(tf.Variable(0.0))
    assert [hasattr(v, "handle") for v in kinds] == [True, True, False, True, False]
    assert [v.dtype.name for v in kinds[:3]] == ["float32", "float32", "float32_ref"]


def test_gradients_by_the_handle_and_slots_of_the_same_kind() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    loss = tf.reduce_sum(v * v)
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    step = optimizer.minimize(loss)
    (gradient,) = tf.gradients(loss, v.handle)
    assert hasattr(optimizer.get_slot(v, "momentum"), "handle")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(gradient).tolist() == [2.0, 4.0]
        session.run(step)
        assert session.run(v).tolist() == [0.0, 0.0]


def test_a_meta_graph_keeps_the_kind() -> None:
    tf.Variable(1.0, name="v", use_resource=True)
    tf.Variable(1.0, name="w")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        assert {v.op.name: hasattr(v, "handle") for v in tf.global_variables()} == {
            "v": True,
            "w": False,
        }


def test_what_an_assignment_in_a_dataset_function_gives_can_be_used() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.get_variable("total", [], tf.int64, tf.zeros_initializer(), use_resource=True)
        sums = tf.data.Dataset.range(1, 4).map(lambda x: total.assign_add(x) + 0)
        iterator = sums.make_initializable_iterator()
        following = iterator.get_next()
        session.run([total.initializer, iterator.initializer])
        assert [session.run(following) for _ in range(3)] == [1, 3, 6]


def nodes() -> list[tuple[str, str, list[str]]]:
    return [(n.name, n.op, list(n.input)) for n in tf.get_default_graph().as_graph_def().node]


def test_the_nodes_are_those_of_tensorflow() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    v.assign(v * 2.0)
    tf.gather(v, [0])
    v.read_value()
    assert nodes() == [
        ("v/Initializer/initial_value", "Const", []),
        ("v", "VarHandleOp", []),
        ("v/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp", ["v"]),
        ("v/Assign", "AssignVariableOp", ["v", "v/Initializer/initial_value"]),
        ("v/Read/ReadVariableOp", "ReadVariableOp", ["v"]),
        ("ReadVariableOp", "ReadVariableOp", ["v"]),
        ("mul/y", "Const", []),
        ("mul", "Mul", ["ReadVariableOp", "mul/y"]),
        ("AssignVariableOp", "AssignVariableOp", ["v", "mul"]),
        ("ReadVariableOp_1", "ReadVariableOp", ["v", "^AssignVariableOp"]),
        ("Gather/indices", "Const", []),
        ("Gather", "ResourceGather", ["v", "Gather/indices"]),
        ("Identity", "Identity", ["Gather"]),
        ("Read/ReadVariableOp", "ReadVariableOp", ["v"]),
        ("Identity_1", "Identity", ["Read/ReadVariableOp"]),
    ]
    node = v.op.node_def
    assert node.attr["shared_name"].s == b"v" and list(node.attr["_class"].list.s) == [b"loc:@v"]


def test_what_it_says_of_itself() -> None:
    v = tf.get_variable("v", [2, 3], use_resource=True)
    assert str(v) == "<tf.Variable 'v:0' shape=(2, 3) dtype=float32>"
    assert str(v.handle) == 'Tensor("v:0", shape=(), dtype=resource)'
    assert v.handle.dtype == tf.resource and v.handle.dtype != tf.variant
    changed = v.assign(tf.ones([2, 3]))
    assert str(changed) == "<tf.Variable 'AssignVariableOp' shape=(2, 3) dtype=float32>"
    assert tf.Variable(tf.placeholder(tf.float32), use_resource=True).shape.ndims is None


def test_a_read_keeps_the_value_of_its_time() -> None:
    """Values of TensorFlow 1.15.5. A reference variable's read would give the new value."""
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    before = v.value()
    with tf.control_dependencies([before]):
        change = v.assign_add(tf.ones([2, 2]), read_value=False)
    with tf.control_dependencies([change]):
        old, new = before * 10.0, v * 10.0
    with tf.Session() as session:
        session.run(v.initializer)
        for start in range(40):  # before and after the plan is rewritten
            values = [x.ravel().tolist() for x in session.run([old, new, before])]
            assert values == [
                [10.0 * (start + i) for i in (1, 2, 3, 4)],
                [10.0 * (start + i) for i in (2, 3, 4, 5)],
                [1.0 * (start + i) for i in (1, 2, 3, 4)],
            ]


def test_the_kind_of_a_variable_that_an_op_changes_is_checked() -> None:
    v = tf.Variable([1.0], use_resource=True)
    w = tf.Variable([1.0], use_resource=False)
    with pytest.raises(TypeError, match="must be a variable, got the handle"):
        tf.raw_ops.AssignAdd(ref=v.handle, value=[1.0])
    with pytest.raises(TypeError, match="must be a resource variable, got the reference variable"):
        tf.raw_ops.ReadVariableOp(resource=w._ref(), dtype=tf.float32)


def test_before_it_has_a_value() -> None:
    v = tf.get_variable("v", [2], use_resource=True)
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.FailedPreconditionError,
            match="Error while reading resource variable v from Container: localhost",
        ),
    ):
        session.run(v + 1.0)


def test_values_and_gradients_in_branches_and_loops() -> None:
    """Values of TensorFlow 1.15.5."""
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    x = tf.ones([1, 2])
    looped = tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.matmul(x, v)), [tf.constant(0), x]
    )[1]
    chosen = tf.cond(tf.reduce_sum(v) > 0, lambda: v * 2, lambda: tf.identity(v))
    fetches = [looped, *tf.gradients(looped, [v]), chosen, *tf.gradients(chosen, [v])]
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(30):
            values = [x.tolist() for x in session.run(fetches)]
            assert values == [
                [[118.0, 172.0]],
                [[51.0, 87.0], [67.0, 111.0]],
                [[2.0, 4.0], [6.0, 8.0]],
                [[2.0, 2.0], [2.0, 2.0]],
            ]
    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert not types & {"RefSwitch", "RefEnter"}


def test_a_checkpoint_serves_both_kinds(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    saver = tf.train.Saver()
    assert [n for n in nodes() if n[1] in ("SaveV2", "AssignVariableOp")][1:] == [
        (
            "save/SaveV2",
            "SaveV2",
            ["save/Const", "save/SaveV2/tensor_names", "save/SaveV2/shape_and_slices"]
            + ["v/Read/ReadVariableOp"],
        ),
        ("save/AssignVariableOp", "AssignVariableOp", ["v", "save/Identity"]),
    ]
    with tf.Session() as session:
        session.run(v.initializer)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(v.assign([7.0, 7.0]))
        saver.restore(session, path)
        assert session.run(v).tolist() == [1.0, 2.0]
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("v", [2])
        tf.train.Saver().restore(session, path)
        assert session.run(w).tolist() == [1.0, 2.0]


def test_a_copy_under_a_prefix_is_the_same_variable() -> None:
    """By its shared name, as in TensorFlow; it may be read in the run that initializes it."""
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    tf.identity(v * 2.0, name="y")
    nodes = tf.get_default_graph().as_graph_def()
    (y,) = tf.import_graph_def(nodes, return_elements=["y:0"], name="copy")
    first = tf.get_default_graph().get_operation_by_name("copy/v/Assign")
    with tf.Session() as session:
        session.run(
            [first, tf.get_default_graph().get_tensor_by_name("copy/v/Read/ReadVariableOp:0")]
        )
        assert session.run([v, y])[1].tolist() == [2.0, 4.0]


def test_updates_are_joined_and_made_in_place() -> None:
    """A step costs what it costs for reference variables: no copy of the weights, one update."""
    layers = [tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)]
    y = tf.ones([4, 8])
    for layer in layers:
        y = layer(y)
    step = tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(y - 1.0)))
    kernel = layers[0].kernel
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(30):
            session.run(step)
        (held,) = (r for name, r in session.resources.items("variable") if name == kernel.op.name)
        address = held.array.ctypes.data
        session.run(step)
        assert held.array.ctypes.data == address
        assert "4 x ResourceApplyAdam -> one node" in str(session.explain(step))


def test_rows_of_an_assigned_variable_are_read_after_the_assignment() -> None:
    v = tf.get_variable("rows", initializer=tf.zeros([3, 2]), use_resource=True)
    assigned = v.assign_add(tf.ones([3, 2]))
    rows = tf.gather(assigned, [1])
    w = tf.get_variable("slices", initializer=tf.zeros([2]), use_resource=True)
    slices = tf.gather_nd(w.assign([1.0, 2.0]), [[1]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(rows).tolist() == [[1.0, 1.0]]
        assert session.run(rows).tolist() == [[2.0, 2.0]]
        assert session.run(slices).tolist() == [2.0]


def test_a_cast_to_its_own_dtype_is_the_variable() -> None:
    """What uses the result reads then, as in TensorFlow; another dtype reads at once."""
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    same, other = tf.cast(v, tf.float32), tf.cast(v, tf.float64)
    assert same is v and tf.to_float(v) is v and tf.keras.backend.cast(v, "float32") is v
    assert other.name == "Cast:0"
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        y = same * 2.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [4.0, 6.0]
        assert session.run([same, other])[0].tolist() == [2.0, 3.0]


def test_a_loop_waits_for_the_assignment_whose_variable_it_reads() -> None:
    """No control edge crosses into a loop: the assignment was not made, and the loop read the old value."""
    v = tf.Variable(0, name="v", use_resource=True)
    total = tf.Variable(0, name="total", use_resource=True)
    for read in (
        lambda changed: changed,
        lambda changed: changed.read_value(),
        lambda c: c.value(),
    ):
        changed = v.assign_add(1)

        def step(i: tf.Tensor, changed: tf.Variable = changed, read: object = read) -> tf.Tensor:
            with tf.control_dependencies([tf.assign_add(total, read(changed)).op]):  # type: ignore
                return i + 1

        loop = tf.while_loop(lambda i: i < 10, step, [tf.constant(0)], parallel_iterations=1)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(loop) == 10
            assert session.run([v, total]) == [1, 10]
