"""`tf.saved_model.save` and `load_v2`, ours both ways; tests/oracle/test_object_models_both_ways.py has TensorFlow's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops.trackable import AutoTrackable

pytestmark = pytest.mark.usefixtures("eagerly")
FLOATS = tf.TensorSpec([None], tf.float32)


class Scaling(tf.Module):
    """A variable that a function reads and changes, with a branch and a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.by = tf.Variable(2.0, name="by")
        self.parts = [tf.Variable([1, 2], trainable=False), {"inner": tf.Variable(b"text")}]

    @tf.function(input_signature=[FLOATS])
    def scaled(self, x: Any) -> Any:
        self.by.assign_add(1.0)
        while tf.reduce_sum(x) < 10.0:
            if x[0] > 2.0:
                x = x + 1.0
            else:
                x = x * 2.0
        return {"y": x * self.by, "x": x}

    @tf.function
    def shifted(self, x: Any, twice: bool = False) -> Any:
        return x + 2 if twice else (x + 1, self.by)


def cycle(obj: Any, folder: Path, signatures: Any = None, times: int = 2) -> Any:
    for number in range(times):
        tf.saved_model.save(obj, folder / str(number), signatures)
        obj = tf.saved_model.load_v2(folder / str(number))
        signatures = None
    return obj


def test_variables_lists_and_dictionaries_come_back(tmp_path: Path) -> None:
    found = cycle(Scaling(), tmp_path)
    assert (found.by.numpy(), found.by.trainable, found.by.name) == (2.0, True, "by:0")
    assert found.parts[0].numpy().tolist() == [1, 2] and not found.parts[0].trainable
    assert found.parts[1]["inner"].numpy() == b"text"
    assert found.tensorflow_version.startswith("1.15")


def test_one_object_in_two_places_stays_one(tmp_path: Path) -> None:
    root, inner = AutoTrackable(), AutoTrackable()
    root.a, root.b = inner, [inner]
    root.empty = []
    found = cycle(root, tmp_path)
    assert found.a is found.b[0] and found.empty == []


def test_functions_run_with_their_effects_and_control_flow(tmp_path: Path) -> None:
    module = Scaling()
    module.shifted(tf.constant(1)), module.shifted(tf.constant(1.0), twice=True)
    found = cycle(module, tmp_path)
    result = found.scaled(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(result["y"], [12.0, 24.0])
    np.testing.assert_allclose(found.scaled([8.0, 8.0])["y"], [32.0, 32.0])
    assert found.by.numpy() == 4.0
    one, by = found.shifted(tf.constant(5))
    assert (one.numpy(), by.numpy()) == (6, 4.0)
    assert found.shifted(tf.constant(5.0), twice=True).numpy() == 7.0
    assert found.shifted(tf.constant(5.0), True).numpy() == 7.0


def test_a_loaded_function_is_differentiated_and_called_by_others(tmp_path: Path) -> None:
    module = AutoTrackable()
    module.w = tf.Variable(3.0)
    module.f = tf.function(lambda x: x * x * module.w, [tf.TensorSpec(None, tf.float32)])
    found = cycle(module, tmp_path)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: found.f(x) + 1.0)(x)
    assert [g.numpy() for g in tape.gradient(y, [x, found.w])] == [12.0, 4.0]


def test_loops_of_loaded_functions_are_differentiated(tmp_path: Path) -> None:
    module = AutoTrackable()

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def power(x: Any) -> Any:
        y = x
        for i in tf.range(3):
            y = y * x if i > 0 else y + 0.0
        return y

    module.power = power
    found = cycle(module, tmp_path)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: 10.0 * found.power(x))(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (80.0, 120.0)


def test_loops_of_loaded_functions_keep_the_order_of_effects(tmp_path: Path) -> None:
    module = AutoTrackable()
    module.count = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def power(x: Any) -> Any:
        y = x
        for _ in tf.range(3):
            module.count.assign_add(1.0)
            y = y * x if module.count > 1.0 else y + 0.0
        return y

    module.power = power
    found = cycle(module, tmp_path)
    x = tf.constant(2.0)
    y = tf.function(lambda x: 10.0 * found.power(x) + found.count)(x)
    assert (y.numpy(), found.count.numpy()) == (83.0, 3.0)
    with tf.GradientTape() as tape, pytest.raises(NotImplementedError, match="change variables"):
        tape.watch(x)
        found.power(x)


def test_arguments_that_no_trace_takes_are_named(tmp_path: Path) -> None:
    module = Scaling()
    module.shifted(tf.constant(1))
    found = cycle(module, tmp_path)
    with pytest.raises(ValueError, match="Could not find matching function to call loaded.*"):
        found.shifted(tf.constant("a"))
    with pytest.raises(ValueError, match="(?s)Option 1.*dtype=tf.int32"):
        found.shifted(tf.constant(1), twice=3)


def test_signatures(tmp_path: Path) -> None:
    module = Scaling()
    shifted = module.shifted.get_concrete_function(tf.TensorSpec([], tf.int32, "number"))
    found = cycle(module, tmp_path, {"scale": module.scaled, "shift": shifted}, times=1)
    assert sorted(found.signatures) == ["scale", "shift"]
    assert found.signatures["shift"](number=tf.constant(4))["output_0"].numpy() == 5
    np.testing.assert_allclose(found.signatures["scale"](tf.constant([6.0]))["x"], [10.0])
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path / "0")
        signature = meta.signature_def["scale"]
        fed = {signature.inputs["x"].name: [4.0, 6.0]}
        assert session.run(signature.outputs["y"].name, fed).tolist() == [12.0, 18.0]
        assert session.run(signature.outputs["y"].name, fed).tolist() == [16.0, 24.0]


def test_the_only_function_is_the_signature(tmp_path: Path) -> None:
    module = AutoTrackable()
    module.f = tf.function(lambda x: x + 1.0, [FLOATS])
    found = cycle(module, tmp_path)
    assert list(found.signatures) == ["serving_default"]
    assert found.signatures["serving_default"](x=tf.constant([1.0]))["output_0"].numpy() == 2.0


def test_signatures_of_several_tensors_take_names(tmp_path: Path) -> None:
    module = AutoTrackable()
    module.f = tf.function(lambda x, y: x - y, [FLOATS, FLOATS])
    signature = cycle(module, tmp_path).signatures["serving_default"]
    x, y = tf.constant([3.0]), tf.constant([1.0])
    assert signature(y=y, x=x)["output_0"].numpy() == 2.0
    with pytest.raises(TypeError, match="by their names"):
        signature(x, y)


def test_tables_and_files(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\n")

    class Words(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            line, whole = tf.lookup.TextFileIndex.LINE_NUMBER, tf.lookup.TextFileIndex.WHOLE_LINE
            lines = tf.lookup.TextFileInitializer(
                str(tmp_path / "words.txt"), tf.string, whole, tf.int64, line
            )
            pairs = tf.lookup.KeyValueTensorInitializer(["x", "y"], [10, 20])
            self.file = tf.saved_model.Asset(str(tmp_path / "words.txt"))
            self.tables = [
                tf.lookup.StaticHashTable(lines, -1),
                tf.lookup.StaticHashTable(pairs, 0),
            ]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def numbers(self, x: Any) -> Any:
            return self.tables[0].lookup(x), self.tables[1].lookup(x)

        @tf.function(input_signature=[])
        def path(self) -> Any:
            return self.file.asset_path

    words = Words()
    tf.saved_model.save(words, tmp_path / "0", words.numbers)
    (tmp_path / "words.txt").unlink()
    found = cycle(tf.saved_model.load_v2(tmp_path / "0"), tmp_path / "again")
    lines, pairs = found.numbers(tf.constant(["b", "y"]))
    assert (lines.numpy().tolist(), pairs.numpy().tolist()) == ([1, -1], [0, 20])
    assert Path(found.path().numpy().decode()).read_text() == "a\nb\n"
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path / "0")
        signature = meta.signature_def["serving_default"]
        outputs = [signature.outputs[f"output_{i}"].name for i in range(2)]
        lines, pairs = session.run(outputs, {signature.inputs["x"].name: ["a", "x"]})
        assert (lines.tolist(), pairs.tolist()) == ([0, -1], [0, 10])


def test_models_of_keras(tmp_path: Path) -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Dense(4, "tanh", input_shape=(3,)),
            layers.BatchNormalization(),
            layers.Dense(2, name="scores"),
        ]
    )
    x = tf.constant([[1.0, 2.0, 3.0]])
    expected = model(x)
    found = cycle(model, tmp_path)
    np.testing.assert_allclose(found(x), expected, rtol=1e-6)
    (signature,) = found.signatures.values()
    np.testing.assert_allclose(signature(x)["scores"], expected, rtol=1e-6)
    assert abs(found(x, training=True).numpy() - expected.numpy()).max() > 1e-6


def test_slots_of_optimizers_are_left_out_with_a_word(tmp_path: Path, caplog: Any) -> None:
    root = AutoTrackable()
    root.v = tf.Variable(2.0)
    root.optimizer = tf.keras.optimizers.Adam()
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        tf.saved_model.save(root, tmp_path / "before")
        assert caplog.text == ""
        with tf.GradientTape() as tape:
            loss = root.v * root.v
        root.optimizer.apply_gradients([(tape.gradient(loss, root.v), root.v)])
        tf.saved_model.save(root, tmp_path / "after")
    assert "leaves out what Adam keeps for each variable (m, v)" in caplog.text
    assert tf.saved_model.load_v2(tmp_path / "after").v.numpy() == root.v.numpy()


def test_in_graph_mode(tmp_path: Path) -> None:
    root = AutoTrackable()
    with tf.Graph().as_default(), tf.Session() as session:
        root.w = tf.Variable(2.0, use_resource=True)
        session.run(root.w.initializer)
        five = tf.constant(5.0)
        root.f = tf.function(
            lambda x: root.w * x + five,
            [tf.TensorSpec(None, tf.float32)],
        )
        tf.saved_model.save(root, tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load_v2(tmp_path / "model")
        session.run(found.w.initializer)
        assert session.run(found.f(tf.constant(2.0))) == 9.0
        assert session.run(found.signatures["serving_default"](x=2.0)["output_0"]) == 9.0
        session.run(found.w.assign(4.0))
        assert session.run(found.f(tf.constant(2.0))) == 13.0
        tf.saved_model.save(found, tmp_path / "again")
    assert tf.saved_model.load_v2(tmp_path / "again").f(tf.constant(1.0)).numpy() == 9.0


def test_a_variable_with_an_unknown_size_keeps_it(tmp_path: Path) -> None:
    class Making(tf.Module):
        v: Any = None

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
        def make(self, first: Any) -> None:
            if self.v is None:
                self.v = tf.Variable(first)

    making = Making()
    making.make([1, 2, 3])
    found = cycle(making, tmp_path)
    found.v.assign([1, 2, 3, 4])
    assert found.v.shape.as_list() == [None] and found.v.numpy().tolist() == [1, 2, 3, 4]


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expected a Trackable object for export, got 3"):
        tf.saved_model.save(3, tmp_path)
    root = AutoTrackable()
    lost = tf.Variable(1.0)
    root.f = tf.function(lambda x: x * lost, [FLOATS])
    with pytest.raises(AssertionError, match="references untracked object"):
        tf.saved_model.save(root, tmp_path)
    with pytest.raises(ValueError, match="Got non-flat outputs"):
        tf.saved_model.save(root, tmp_path, tf.function(lambda x: [[x]], [FLOATS]))
    with pytest.raises(ValueError, match="Expected a TensorFlow function to generate a signature"):
        tf.saved_model.save(root, tmp_path, tf.function(lambda x: x))
    with pytest.raises(ValueError, match="non-unique argument names"):
        tf.saved_model.save(root, tmp_path, tf.function(lambda x: x[0] + x[1], [(FLOATS, FLOATS)]))
    table = AutoTrackable()
    table.t = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    with pytest.raises(NotImplementedError, match="a table that the program changes"):
        tf.saved_model.save(table, tmp_path)
    with pytest.raises(AssertionError, match="not supported inside a traced"):
        tf.function(lambda x: tf.saved_model.save(root, tmp_path))(tf.constant(1.0))


def test_what_cannot_be_loaded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="SavedModel file does not exist"):
        tf.saved_model.load_v2(tmp_path)
    tf.saved_model.save(AutoTrackable(), tmp_path / "objects")
    assert tf.saved_model.load_v2(tmp_path / "objects", "serve") is not None
    with pytest.raises(ValueError, match="incompatible argument tags=other"):
        tf.saved_model.load_v2(tmp_path / "objects", "other")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        tf.saved_model.simple_save(session, tmp_path / "graphs", {"x": x}, {"y": x + 1.0})
        with pytest.raises(NotImplementedError, match="tf.saved_model.loader.load"):
            tf.saved_model.load_v2(tmp_path / "graphs")
    with pytest.raises(RuntimeError, match="could not be found in SavedModel"):
        tf.saved_model.load_v2(tmp_path / "graphs", ["other"])
