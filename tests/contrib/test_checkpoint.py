"""``tf.contrib.checkpoint``: containers that object-based checkpoints save."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf

C = tf.contrib.checkpoint
data_structures: Any = importlib.import_module("dataflow.python.training.tracking.data_structures")

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
    with saved_and_restored(first, second, tmp_path) as sess:
        one, other = sess.run(outputs)
        assert one.tolist() == other.tolist()


def test_a_mapping_keeps_what_it_has() -> None:
    first, second = tf.Variable(1.0), tf.Variable(2.0)
    mapping = C.Mapping(b=first)
    with pytest.raises(ValueError, match="append-only"):
        mapping["b"] = second
    with pytest.raises(TypeError, match="string keys"):
        mapping[3] = first
    with pytest.raises(ValueError, match="Only trackable"):
        mapping["c"] = 1
    mapping.update(a=second)
    assert mapping.variables == [second, first]  # by their keys
    assert mapping != C.Mapping(mapping) and len({mapping, C.Mapping()}) == 2
    for name in ("pop", "popitem", "clear", "setdefault"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(mapping, name)
    with pytest.raises(AttributeError):
        del mapping["b"]


def test_a_list_knows_the_variables_in_it() -> None:
    dense = tf.keras.layers.Dense(1)
    dense(tf.ones([2, 3]))
    v, w = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    held = C.List([v, dense, w, [v]])
    trained = [dense.kernel, dense.bias, v, v]
    assert held.trainable and held.layers == [dense] and held.losses == held.updates == []
    assert held.trainable_weights == held.trainable_variables == trained
    assert held.non_trainable_variables == [w] and held.variables == [*trained, w]
    held.trainable = False
    assert held.trainable_variables == [] and held.non_trainable_weights == [*trained, w]
    outer = C.List([held, C.Mapping(a=w)])
    assert outer.layers == [dense] and outer.variables == [*trained, w, w]


def test_a_list_only_grows() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    held = C.List([v])
    assert v in held and w not in held and held[:1] == [v]
    for grown in (held + [w], [v] + C.List([w])):
        assert type(grown) is C.List and list(grown) == [v, w]
    assert list(held * 2) == list(2 * held) == [v, v] and list(held) == [v]
    held += [w]
    held *= 2
    assert list(held) == [v, w, v, w] and list(held.copy()) == list(held)
    assert held == held and held != held.copy() and len({held, C.List(), C.List()}) == 3
    assert repr(C.List()) == "List([])" and list(copy.copy(held)) == list(held)
    for wrong in (1, object()):
        with pytest.raises(ValueError, match="Only trackable"):
            held.append(wrong)
    with pytest.raises(ValueError, match="only supports append"):
        held *= 0
    for name in ("pop", "remove", "insert", "clear", "sort", "reverse"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(held, name)
    with pytest.raises(AttributeError):
        held[0] = w
    with pytest.raises(AttributeError):
        del held[0]
    assert data_structures.List is C.List and data_structures.Mapping is C.Mapping


def test_what_is_not_here_says_so() -> None:
    with pytest.raises(AttributeError, match=r"numpy\.savez"):
        _ = C.NumpyState
