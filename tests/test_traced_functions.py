"""`tf.function`, `tf.GradientTape` and `tf.Module`; tests/oracle/programs/late_names.py compares them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


def test_effects_come_in_the_order_of_the_lines() -> None:
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def step(x: Any) -> Any:
        v.assign_add(x)
        twice = v * 2.0
        v.assign(v + 10.0)
        return twice, v

    assert run_initialized(step(tf.constant(1.0))) == (4.0, 12.0)


def test_what_only_has_effects_gives_an_operation() -> None:
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def step() -> None:
        tf.cond(v > 0.0, lambda: v.assign_add(1.0) + 0.0, lambda: tf.constant(0.0))

    with tf.Session() as session:
        operation = step()
        session.run(tf.global_variables_initializer())
        session.run(operation)
        assert session.run(v) == 2.0


def test_variables_are_made_by_the_first_call_alone() -> None:
    class Scale(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w: Any = None
            self.parts = [tf.Module("inner")]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable([1.0, 2.0])
            return x * self.w

    scale, other = Scale(), Scale()
    assert run_initialized([scale(np.array([3.0, 4.0])), other([1.0, 1.0])])[0].tolist() == [
        3.0,
        8.0,
    ]
    assert scale.trainable_variables == scale.variables == (scale.w,)
    assert scale.w is not other.w
    assert scale.name == "scale" and scale.submodules == tuple(scale.parts)
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        scale([[1.0]])

    @tf.function
    def wrong() -> Any:
        return tf.Variable(1.0) + 1.0

    wrong()
    with pytest.raises(ValueError, match="non-first call"):
        wrong()


def test_a_tape_differentiates_once_unless_it_is_persistent() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    found = tape.gradient(y, {"x": x}, output_gradients=tf.constant([1.0, 10.0]))
    assert run_initialized(found)["x"].tolist() == [2.0, 40.0]
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert [run_initialized(tape.gradient(y, x)).tolist() for _ in range(2)] == [[2.0, 4.0]] * 2


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("random.Generator", "seed="),
        ("signal.fftnd", "fft2d"),
        ("LMDBReader", "TFRecord"),
        ("config.LogicalDeviceConfiguration", "ConfigProto"),
    ],
)
def test_what_is_refused_says_what_to_write(path: str, words: str) -> None:
    target: Any = tf
    *parents, name = path.split(".")
    for part in parents:
        target = getattr(target, part)
    with pytest.raises(AttributeError, match=words):
        getattr(target, name)


def test_the_processors_are_listed() -> None:
    (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    assert cpu == ("/physical_device:CPU:0", "CPU")
    assert cpu in tf.config.list_physical_devices()
    tf.config.experimental.set_memory_growth(cpu, True)


def test_modules_name_what_they_make() -> None:
    class MyPart(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return tf.identity(x, name="i")

    with tf.Graph().as_default():
        first, second = MyPart(), MyPart()
        assert [first.name, second.name] == ["my_part", "my_part"]
        names = [first(1).name, first(1).name, second(1).name]
        assert names == ["my_part/i:0", "my_part/i_1:0", "my_part_1/i:0"]
        with first.name_scope:
            assert tf.constant(1, name="c").name == "my_part/c:0"
        with tf.name_scope("a"):
            assert MyPart()(1).name == "a/my_part/i:0"
    with pytest.raises(ValueError, match="'a/b' is not a valid module name"):
        tf.Module("a/b")


def test_numbers_and_texts_that_are_returned_are_tensors_after_the_effects() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        count = tf.Variable(0, use_resource=True)

        @tf.contrib.eager.defun
        def raised() -> tuple[str, int, None]:
            count.assign_add(1)
            return "done", 2, None

        text, number, nothing = raised()
        sess.run(count.initializer)
        assert nothing is None
        assert sess.run(text) == b"done" and sess.run(number) == 2
        assert sess.run(count) == 2


def test_a_module_that_holds_itself_and_layers() -> None:
    class Part(tf.Module):
        def __init__(self, name: str | None = None) -> None:
            super().__init__(name)
            self.w = tf.Variable(1.0, name=f"{self.name}_w")

    class Whole(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Part("first")
            self.layer = tf.keras.layers.Dense(2)
            self.layer.build((1, 3))
            self.more = {"k": [Part("second"), tf.Variable(2.0, trainable=False, name="last")]}
            self.whole = self

    with tf.Graph().as_default():
        whole = Whole()
        # The values of attributes come before what is within modules.
        names = [v.name for v in whole.variables]
        assert names == ["last:0", "kernel:0", "bias:0", "second_w:0", "first_w:0"]
        assert len(whole.trainable_variables) == 4
        assert whole.submodules == (whole.layer, whole.more["k"][0], whole.part)
        found = list(
            whole._flatten(recursive=False, predicate=lambda x: isinstance(x, Part), with_path=True)
        )
        assert found == [(("more", "k", 0), whole.more["k"][0]), (("part",), whole.part)]
        last_first = whole._flatten(
            recursive=False,
            predicate=lambda x: isinstance(x, Part),
            attribute_traversal_key=lambda n: n != "part",
        )
        assert next(iter(last_first)) is whole.part


def test_a_signature_of_named_parts_takes_lists_of_numbers() -> None:
    @tf.function(
        input_signature=[{"a": tf.TensorSpec([None, 2]), "b": tf.TensorSpec([], tf.int32)}]
    )
    def total(parts: dict[str, tf.Tensor]) -> tf.Tensor:
        return tf.reduce_sum(parts["a"]) + tf.cast(parts["b"], tf.float32)

    assert run_initialized(total({"a": [[1, 2], [3, 4]], "b": 5})) == 15
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        total({"a": [[1, 2, 3]], "b": 5})
    with pytest.raises(ValueError, match="same nested structure"):
        total({"a": [[1, 2]]})


def test_a_call_without_results_is_an_operation() -> None:
    @tf.function
    def nothing(x: tf.Tensor) -> None:
        """Does nothing."""

    made = nothing(tf.constant(1.0))
    assert isinstance(made, tf.Operation) and run_initialized(made) is None


def test_variables_of_a_function_in_a_graph_are_not_called_after_it():
    made = {}

    @tf.function
    def model(x):
        if not made:
            made["v"] = tf.Variable(2.0, name="v")
            with tf.name_scope("inner"):
                made["w"] = tf.Variable(3.0, name="w")
        return x * made["v"] * made["w"]

    with tf.Graph().as_default(), tf.Session() as sess, tf.name_scope("outer"):
        product = model(tf.constant(5.0))
        assert [made[k].op.name for k in "vw"] == ["v", "inner/w"]
        names = [op.name for op in product.graph.get_operations()]
        assert "outer/model/mul" in names
        sess.run(tf.global_variables_initializer())
        assert sess.run(product) == 30.0


def test_a_function_runs_initializers_that_were_there_before_it() -> None:
    """An agent's ``initialize()`` is a function that makes the group of them and returns nothing."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        v = tf.compat.v2.Variable([1.0, 2.0])
        w = tf.Variable(3.0)

        @tf.function
        def initialize() -> None:
            tf.variables_initializer([v, w])

        @tf.function
        def initialized() -> Any:
            tf.variables_initializer([v, w])
            return tf.constant(7)

        session.run(initialize())
        assert session.run(w) == 3.0
        session.run([v.assign([0.0, 0.0]), w.assign(0.0)])
        assert session.run(initialized()) == 7
        assert [list(session.run(v)), session.run(w)] == [[1.0, 2.0], 3.0]

        @tf.function
        def twice(x: Any) -> Any:
            return x * 2.0

        before = w.assign(5.0)
        x = tf.constant(1.0)
        made = len(graph.get_operations())
        with tf.control_dependencies([before]):  # which all wait for, with or without a function
            twice(x)
        assert len(graph.get_operations()) - made == 2


def test_a_function_sees_collections_and_leaves_only_variables_in_them() -> None:
    tf.add_to_collection("mine", 1)
    seen: list[Any] = []
    made: list[Any] = []

    @tf.function
    def step(x: Any) -> Any:
        tf.add_to_collection("mine", 2)
        tf.losses.add_loss(x * 2.0)
        if not made:
            made.append(tf.Variable(3.0))
        seen.append((tf.get_collection("mine"), len(tf.losses.get_losses())))
        return x * made[0]

    outputs = [step(tf.constant(1.0)), step(tf.constant(2.0))]
    assert seen == [([1, 2], 1), ([1, 2], 1)]
    assert tf.get_collection("mine") == [1] and tf.losses.get_losses() == []
    assert tf.global_variables() == made == tf.trainable_variables()
    assert run_initialized(outputs) == [3.0, 6.0]

    @tf.function
    def failing() -> Any:
        tf.add_to_collection("mine", 3)
        raise RuntimeError("after all")

    with pytest.raises(RuntimeError, match="after all"):
        failing()
    assert tf.get_collection("mine") == [1]
