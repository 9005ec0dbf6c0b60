"""Small modules of TensorFlow's framework: what they hold, and what bad input gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dataflow
from dataflow.autodiff.gradient_tape import GradientTape
from dataflow.graph.registry import all_ops
from dataflow.python import framework_parts as parts
from dataflow.python.framework import function, ops
from dataflow.python.subscriptions import subscribe

tf: Any = dataflow


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as found:
        yield found


def test_registry() -> None:
    registry = parts.Registry("cat")
    registry.register("Tom", "tom")
    registry.register(dict)
    assert registry.lookup("tom") == registry.lookup(b"tom") == "Tom"
    assert list(registry.list()) == ["tom", "dict"]
    with pytest.raises(
        KeyError, match="Registering two cat with name 'tom'!.*test_framework_parts"
    ):
        registry.register("Garfield", "tom")
    with pytest.raises(LookupError, match="cat registry has no entry for: gone"):
        registry.lookup("gone")


def test_keyword_args_only() -> None:
    add = parts.keyword_args_only(lambda a, b: a + b)
    assert add(a=1, b=2) == 3
    with pytest.raises(ValueError, match="Must use keyword args"):
        add(1, b=2)
    with pytest.raises(ValueError, match="is not a function"):
        parts.keyword_args_only(3)  # type: ignore[arg-type]


def test_recording_stops() -> None:
    from dataflow.python.eager import context

    with context.eager_mode():
        x = tf.constant(3.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with parts.stop_recording():
                z = y * x
            w = y + z
        assert tape.gradient(w, x).numpy() == 6.0
        assert not parts.IS_IN_GRAPH_MODE()
    assert parts.IS_IN_GRAPH_MODE()
    assert not parts.is_cuda_build and not parts.is_rocm_build


def test_automatic_control_dependencies() -> None:
    v = tf.Variable(1.0, use_resource=True)
    with parts.AutomaticControlDependencies() as c:
        v.assign(v + 1.0)
        v.assign(v * 2.0)
        value = c.mark_as_return(v.read_value())
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(value) == 4.0
        assert session.run(v) == 4.0


def test_ops_by_type() -> None:
    library = parts.OpDefLibrary()
    library.add_op(None)
    total = library.apply_op("Add", name="total", x=1.0, y=2.0)
    assert total.op.name == "total"
    with tf.Session() as session:
        assert session.run(total) == 3.0
    with pytest.raises(RuntimeError, match="Unrecognized Op name Nothing"):
        library.apply_op("Nothing")


def test_shape_functions_are_passed_over() -> None:
    assert ops.RegisterShape("Mine")(len) is len


def test_op_types_of_tests() -> None:
    from dataflow.python.framework import test_ops

    pair = test_ops.float_output_string_output(name="pair")
    user = test_ops.foo2(pair.a, pair.b, pair.b, name="user").d.op
    assert [op.name for op in pair.b.consumers()] == ["user", "user"]
    assert [t.dtype for t in user.outputs] == [tf.float32, tf.int32]
    assert user.outputs[0].shape.ndims is None and pair.b._value_index == 1
    assert test_ops.int_attr().op.get_attr("foo") == 1
    assert tf.get_default_graph().create_op("None", [], []).outputs == []
    assert "float_output" in dir(test_ops) and "FloatOutput" not in all_ops()
    with pytest.raises(AttributeError, match="no op of tests is called 'nothing'"):
        _ = test_ops.nothing


def test_variables_by_name() -> None:
    from dataflow.python.state_parts import _get_default_variable_store

    store = _get_default_variable_store()
    v = store.get_variable("v", [2])
    assert store.get_variable("v", [2]) is v and store._vars == {"v": v}
    with pytest.raises(ValueError, match="already exists"):
        store.get_variable("v", [2], reuse=False)
    with pytest.raises(ValueError, match="does not exist"):
        store.get_variable("w", [2], reuse=True)


def test_calls_of_defined_functions_are_named_after_them() -> None:
    @function.Defun(tf.float32, func_name="Double")
    def double(x: Any) -> Any:
        return x * 2.0

    @function.Defun(tf.float32)
    def both(x: Any) -> Any:
        return [x, x + 1.0]

    assert double(1.0).op.name == "Double" and double(1.0).op.name == "Double_1"
    with tf.name_scope("inner"):
        assert double(1.0, name="mine").op.name == "inner/mine"
    found = both(2.0)
    assert isinstance(found, tuple) and [t.name for t in found] == ["both:0", "both:1"]
    with tf.Session() as session:
        assert session.run(found) == (2.0, 3.0)


def test_calls_of_defined_functions_share_their_variables() -> None:
    @function.Defun(tf.float32)
    def scaled(x: Any) -> Any:
        return x * tf.get_variable("w", [], initializer=tf.ones_initializer())

    with tf.variable_scope("first"):
        a = scaled(2.0)
    with tf.variable_scope("second"):
        b = scaled(3.0)
    assert [v.name for v in tf.global_variables()] == ["first/w:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([a, b]) == [2.0, 3.0]
    with tf.Graph().as_default():
        scaled(1.0)
        assert [v.name for v in tf.global_variables()] == ["w:0"]


def test_what_no_defined_function_takes() -> None:
    def two(a: Any, b: Any) -> Any:
        return a + b

    with pytest.raises(ValueError, match="specified input types: 1"):
        function.Defun(tf.float32)(two)(1.0)
    with pytest.raises(ValueError, match="defaults or keyword arguments are not supported"):
        function.Defun()(lambda a=1: a)()
    add = function.Defun(tf.float32, tf.float32)(two)
    with pytest.raises(ValueError, match="Expected number of arguments: 2, received: 1"):
        add(1.0)
    with pytest.raises(ValueError, match="Unknown keyword arguments: device"):
        add(1.0, 2.0, device="/cpu:0")

    def first(*everything: Any) -> Any:
        return everything[0]

    assert function.Defun(tf.float32, tf.float32)(first)(1.0, 2.0).shape == ()


# ---- subscriptions ----------------------------------------------------------------------------


def seen_by(log: list[Any]) -> Any:
    """An effect that notes the values of its tensor."""

    def note(value: Any) -> Any:
        log.append(value.tolist())
        return value

    return lambda tensor: [tf.py_func(note, [tensor], tensor.dtype)]


def test_effects_run_when_a_tensor_is_used() -> None:
    log: list[Any] = []
    a = tf.constant(1.0, name="a")
    b = tf.add(a, 1.0, name="b")
    c = b * 10.0
    with tf.control_dependencies([b]):
        d = tf.constant(7.0)
    found = subscribe(b, seen_by(log))
    assert found.op.name == "b/subscription/Identity"
    assert c.op.inputs[0] is found and d.op.control_inputs == [found.op]
    with tf.Session() as session:
        assert session.run(c) == 20.0 and log == [2.0]
        session.run(d)
        session.run(found)
        assert log == [2.0] * 3


def test_more_effects_for_one_tensor() -> None:
    first: list[Any] = []
    second: list[Any] = []
    a = tf.constant(1.0)
    b = -a
    found = subscribe(a, [seen_by(first)])
    assert subscribe(a, seen_by(second)) is found and subscribe(found, [seen_by(second)]) is found
    with tf.Session() as session:
        assert session.run(b) == -1.0
    assert (first, second) == ([1.0], [1.0, 1.0])


def test_structures_are_subscribed() -> None:
    log: list[Any] = []
    v = tf.Variable([1.0])
    a = tf.constant(2.0)
    found = subscribe({"a": [a], "v": (v,)}, seen_by(log))
    assert set(found) == {"a", "v"} and isinstance(found["v"], tuple)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(found)
    assert sorted(map(str, log)) == ["2.0", "[1.0]"]
    table = tf.queue.FIFOQueue(1, tf.float32).queue_ref
    assert subscribe(table, seen_by(log)) is table or table.dtype.is_ref
    with pytest.raises(TypeError, match=r"'text' has invalid type"):
        subscribe("text", seen_by(log))


def test_effects_inside_of_a_loop() -> None:
    log: list[Any] = []

    def body(i: Any) -> Any:
        return subscribe(i + 1, seen_by(log))

    last = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.Session() as session:
        assert session.run(last) == 3
    assert log == [1, 2, 3]


def test_rows_are_added_to_a_variable_by_its_handle() -> None:
    from dataflow.python.ops import resource_variable_ops as resources

    v = tf.Variable([1.0, 2.0], use_resource=True)
    added = resources.resource_scatter_add(v.handle, [0], tf.constant(3.0))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(added)
        assert session.run(v).tolist() == [4.0, 2.0]
