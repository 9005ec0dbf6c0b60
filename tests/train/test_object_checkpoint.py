"""`tf.train.Checkpoint` and `CheckpointManager`: objects to files and back, in TensorFlow's format."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.train.saveables import OBJECT_GRAPH_KEY


class Part(tf.Module):
    def __init__(self, start: float) -> None:
        super().__init__(name="part")
        self.w = tf.Variable([start, start + 1], name="anything")
        self.more = [tf.Variable(start + 5), {"k": tf.Variable(start + 6)}]


def values(session: Any, part: Part) -> list[Any]:
    w, a, b = session.run([part.w, part.more[0], part.more[1]["k"]])
    return [*w.tolist(), float(a), float(b)]


def test_variables_are_found_by_their_place_not_by_their_name(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        part = Part(1.0)
        checkpoint = tf.train.Checkpoint(part=part)
        session.run(tf.global_variables_initializer())
        path = checkpoint.save(tmp_path / "m", session=session)
    assert path == str(tmp_path / "m-1") and tf.train.latest_checkpoint(tmp_path) == path
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "part/more/1/k/.ATTRIBUTES/VARIABLE_VALUE" in names and OBJECT_GRAPH_KEY in names
    assert tf.train.load_variable(path, "save_counter/.ATTRIBUTES/VARIABLE_VALUE") == 1
    with tf.Graph().as_default(), tf.Session() as session, tf.variable_scope("other"):
        part = Part(-9.0)
        status = tf.train.Checkpoint(part=part).restore(path)
        status.assert_consumed().assert_nontrivial_match()
        status.run_restore_ops(session)
        assert values(session, part) == [1, 2, 6, 7]


def test_slots_and_what_is_made_after_restore(tmp_path: Path) -> None:
    def build(made: Any = None) -> Any:
        layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        checkpoint = tf.train.Checkpoint(layer=layer, optimizer=optimizer)
        status = made(checkpoint) if made else None
        loss = tf.reduce_sum(layer(tf.constant([[1.0, 2.0]])) ** 2)
        step = optimizer.minimize(loss, var_list=layer.trainable_variables)
        return checkpoint, loss, step, status

    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, loss, step, _ = build()
        session.run(tf.global_variables_initializer())
        session.run([step])
        session.run([step])
        path = checkpoint.write(tmp_path / "w", session=session)
        session.run(step)
        expected = session.run(loss)
    key = "layer/kernel/.OPTIMIZER_SLOT/optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE"
    assert key in dict(tf.train.list_variables(path))
    with tf.Graph().as_default(), tf.Session() as session:
        _, loss, step, status = build(lambda c: c.restore(path))
        status.initialize_or_restore(session)
        session.run(step)
        assert session.run(loss) == expected


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        session_vars = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0))
        session.run(tf.global_variables_initializer())
        path = session_vars.save(tmp_path / "m", session=session)
    with tf.Graph().as_default(), tf.Session() as session:
        a, c = tf.Variable(5.0), tf.Variable(6.0)
        status = tf.train.Checkpoint(a=a, c=c).restore(path)
        with pytest.raises(AssertionError, match="b/.ATTRIBUTES"):
            status.assert_consumed()
        with pytest.raises(AssertionError, match="not assigned a value"):
            status.assert_existing_objects_matched()
        status.expect_partial().initialize_or_restore(session)
        assert session.run([a, c]) == [1, 6]
    with tf.Graph().as_default():
        wide = tf.Variable([1.0, 2.0])
        status = tf.train.Checkpoint(a=wide).restore(path)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            status.run_restore_ops(session)
        with pytest.raises(AssertionError, match="Nothing except the root"):
            other = tf.train.Checkpoint(z=tf.Variable(1.0))
            other.restore(path).assert_nontrivial_match()
        with pytest.raises(tf.errors.NotFoundError, match="no checkpoint"):
            tf.train.Checkpoint(a=wide).restore(tmp_path / "nothing")
        with pytest.raises(ValueError, match="trackable object"):
            tf.train.Checkpoint(a=3)


def test_none_initializes(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.Variable(5.0)
        status = tf.train.Checkpoint(a=a).restore(None)
        status.initialize_or_restore(session)
        assert session.run(a) == 5
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            status.run_restore_ops(session)


def test_savers_and_checkpoints_read_each_other(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, t = tf.Variable(5.0, name="a"), tf.Variable("text", name="t")
        session.run(tf.global_variables_initializer())
        named = tf.train.Saver([a, t]).save(session, str(tmp_path / "named"))
        placed = tf.train.Checkpoint(x=a, y=t).write(tmp_path / "placed", session=session)
        session.run([a.assign(0.0), t.assign("")])
        tf.train.Saver([a, t]).restore(session, placed)
        assert session.run([a, t]) == [5, b"text"]
        session.run([a.assign(0.0), t.assign("")])
        tf.train.Checkpoint(x=a, y=t).restore(named).run_restore_ops(session)
        assert session.run([a, t]) == [5, b"text"]


def test_a_manager_keeps_the_newest(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session().as_default():
        v = tf.Variable(0.0)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=2)
        assert manager.latest_checkpoint is None
        v.initializer.run()
        for _ in range(3):
            saved = manager.save()
        kept = [str(tmp_path / "ckpt-2"), str(tmp_path / "ckpt-3")]
        assert manager.checkpoints == kept and saved == manager.latest_checkpoint == kept[1]
        assert not any("ckpt-1" in name for name in os.listdir(tmp_path))
        again = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=2)
        assert again.checkpoints == kept
        again.save(checkpoint_number=10)
        assert again.checkpoints == [kept[1], str(tmp_path / "ckpt-10")]
        with pytest.raises(ValueError, match="max_to_keep"):
            tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=0)


PROGRAM = """
import sys
import tensorflow as tf
if not tf.__version__.startswith("1."):
    tf = tf.compat.v1
    tf.disable_eager_execution()
a, b = tf.Variable([9.0, 9.0]), tf.Variable(u"", name="b")
checkpoint = tf.train.Checkpoint(a=a, parts=tf.train.Checkpoint(b=b))
with tf.Session() as session:
    status = checkpoint.restore(sys.argv[1]).assert_consumed()
    status.initialize_or_restore(session)
    print(session.run([a, b]))
    session.run(a.assign(a * 10))
    checkpoint.save(sys.argv[2], session=session)
"""


@pytest.mark.oracle
@pytest.mark.skipif("DATAFLOW_ORACLE_PYTHON" not in os.environ, reason="needs a TensorFlow")
def test_tensorflow_reads_and_writes_the_same(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable([1.0, 2.0]), tf.Variable("text")
        checkpoint = tf.train.Checkpoint(a=a, parts=tf.train.Checkpoint(b=b))
        session.run(tf.global_variables_initializer())
        path = checkpoint.save(tmp_path / "ours", session=session)
        (tmp_path / "theirs").mkdir()
        command = [os.environ["DATAFLOW_ORACLE_PYTHON"], "-c", PROGRAM, path]
        subprocess.run([*command, str(tmp_path / "theirs" / "m")], check=True, timeout=120)
        status = checkpoint.restore(tf.train.latest_checkpoint(tmp_path / "theirs"))
        status.assert_consumed().run_restore_ops(session)
        np.testing.assert_array_equal(session.run(a), [10, 20])
        assert session.run([b, checkpoint.save_counter]) == [b"text", 2]


class Count(tf.train.experimental.PythonState):
    """A number of Python's."""

    def __init__(self, n: int) -> None:
        self.n = n

    def serialize(self) -> str:
        return str(self.n)

    def deserialize(self, string_value: bytes) -> None:
        self.n = int(string_value)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_state_of_python_is_saved_and_is_back_at_once(tmp_path: Path, as_bytes: bool) -> None:
    class Saved(Count):
        def serialize(self) -> Any:
            return str(self.n).encode() if as_bytes else str(self.n)

    with tf.Graph().as_default(), tf.Session() as session:
        count, v = Saved(7), tf.Variable(2.0)
        checkpoint = tf.train.Checkpoint(parts={"count": count}, v=v)
        session.run(tf.global_variables_initializer())
        path = checkpoint.save(tmp_path / "m", session=session)
        key = "parts/count/.ATTRIBUTES/py_state"
        assert tf.train.load_variable(path, key) == b"7"
        count.n = 1
        status = checkpoint.restore(path)
        assert count.n == 7
        status.assert_consumed().run_restore_ops(session)
        count.n = 5
        assert tf.train.load_variable(checkpoint.save(tmp_path / "m", session=session), key) == b"5"
        missing = tf.train.Checkpoint(v=tf.Variable(0.0)).restore(path)
        with pytest.raises(AssertionError, match="py_state"):
            missing.assert_consumed()


def test_state_of_python_needs_both_methods() -> None:
    state = tf.train.experimental.PythonState()
    with pytest.raises(NotImplementedError, match="serialize"):
        state.serialize()
    with pytest.raises(NotImplementedError, match="deserialize"):
        state.deserialize(b"")


class _Bytes(tf.train.experimental.PythonState):
    def __init__(self, text: bytes) -> None:
        self.text = text

    def serialize(self) -> bytes:
        return self.text

    def deserialize(self, string_value: bytes) -> None:
        self.text = string_value


def test_zeros_at_the_end_of_a_state_of_python_come_back(tmp_path: Path) -> None:
    state = _Bytes(b"a\0b\0\0")
    with tf.Graph().as_default(), tf.Session().as_default() as session:
        checkpoint = tf.train.Checkpoint(state=state)
        checkpoint.save_counter.initializer.run()
        path = checkpoint.save(tmp_path / "m", session=session)
        state.text = b""
        checkpoint.restore(path)
    assert state.text == b"a\0b\0\0"


def test_a_class_of_a_library_names_its_parts_and_makes_those_of_a_checkpoint(
    tmp_path: Path,
) -> None:
    from dataflow.python.training.tracking import base

    class Bag(base.Trackable):
        def put(self, name: str, text: bytes) -> None:
            self._track_trackable(_Bytes(text), name=name, overwrite=True)

        def get(self, name: str) -> bytes:
            return self._unconditional_dependency_names[name].text

        def _lookup_dependency(self, name: str) -> Any:
            found = super()._lookup_dependency(name)
            return self._track_trackable(_Bytes(b""), name) if found is None else found

    bag = Bag()
    bag.put("x", b"old")
    bag.put("x", b"1")
    bag.put("y", b"2")
    assert [part.name for part in bag._unconditional_checkpoint_dependencies] == ["x", "y"]
    with pytest.raises(ValueError, match="another part of this Bag has that name"):
        bag._track_trackable(_Bytes(b""), "x")
    with tf.Graph().as_default(), tf.Session().as_default() as session:
        checkpoint = tf.train.Checkpoint(bag=bag)
        checkpoint.save_counter.initializer.run()
        path = checkpoint.save(tmp_path / "m", session=session)
        other = Bag()
        tf.train.Checkpoint(bag=other).restore(path).assert_consumed()
    assert [other.get("x"), other.get("y")] == [b"1", b"2"]
