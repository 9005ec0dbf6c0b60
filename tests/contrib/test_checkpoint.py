"""``tf.contrib.checkpoint``: containers that object-based checkpoints save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dataflow as tf

C = tf.contrib.checkpoint

pytestmark = pytest.mark.usefixtures("graph")


def saved_and_restored(written: Any, read: Any, folder: Path) -> Any:
    """Saves ``written``'s variables, and gives the session in which ``read`` has their values."""
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    with sess.as_default():
        path = tf.train.Checkpoint(root=written).save(str(folder / "model"))
        tf.train.Checkpoint(root=read).restore(path).assert_consumed().run_restore_ops(sess)
    return sess


def test_names_are_made_unique(tmp_path: Path) -> None:
    slots = C.UniqueNameTracker()
    for value, name in ((2.0, "x"), (3.0, "x"), (4.0, "x_1"), (5.0, "y")):
        slots.track(tf.Variable(value), name)
    target = C.Checkpointable()
    for name in ("x", "x_1", "x_1_1", "y"):
        setattr(target, name, tf.Variable(0.0))
    with saved_and_restored(slots, target, tmp_path) as sess:
        assert sess.run([target.x, target.x_1, target.x_1_1, target.y]) == [2.0, 3.0, 4.0, 5.0]
    with pytest.raises(ValueError, match="Expected a trackable value, got 3"):
        slots.track(3, "z")


def test_lists_and_mappings_are_saved_with_their_layers(tmp_path: Path) -> None:
    class Net(C.Checkpointable):
        def __init__(self) -> None:
            self.cells = C.List([tf.keras.layers.Dense(3), tf.keras.layers.Dense(2)])
            self.named = C.Mapping(head=tf.keras.layers.Dense(1))

        def __call__(self, x: Any) -> Any:
            for cell in self.cells:
                x = cell(x)
            return self.named["head"](x)

    first, second = Net(), Net()
    x = tf.ones([1, 4])
    outputs = [first(x), second(x)]
    assert [len(first.cells.trainable_variables), len(first.named.weights)] == [4, 2]
    assert len(C.List(1, tf.keras.layers.Dense(1)).layers) == 1
    with saved_and_restored(first, second, tmp_path) as sess:
        one, other = sess.run(outputs)
        assert one.tolist() == other.tolist()


def test_a_mapping_keeps_what_it_has() -> None:
    mapping = C.Mapping(a=1)
    with pytest.raises(ValueError, match="append-only"):
        mapping["a"] = 2
    with pytest.raises(TypeError, match="string keys"):
        mapping[3] = 1


def test_what_is_not_here_says_so() -> None:
    with pytest.raises(AttributeError, match=r"numpy\.savez"):
        _ = C.NumpyState
