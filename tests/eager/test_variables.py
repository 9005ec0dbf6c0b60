"""Variables of eager code have values from their beginning, and go when nobody holds them."""

import copy
import gc

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime import eager as eager_runtime
from dataflow.runtime.eager import runner
from dataflow.runtime.resources import eager_resources


def test_values_and_assignments():
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.name == "w:0"
    np.testing.assert_array_equal(v.assign_add([1.0, 1.0]).numpy(), [2.0, 3.0])
    before = v.read_value()
    v.assign([5.0, 6.0])
    np.testing.assert_array_equal(before.numpy(), [2.0, 3.0])
    np.testing.assert_array_equal((v * 2).numpy(), [10.0, 12.0])
    v[1].assign(9.0)
    v.scatter_sub(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
    np.testing.assert_array_equal(v.numpy(), [4.0, 9.0])
    assert repr(v) == (
        "<tf.Variable 'w:0' shape=(2,) dtype=float32, numpy=array([4., 9.], dtype=float32)>"
    )
    assert not hasattr(tf.constant(1.0), "assign")


def test_variables_of_one_name_are_two():
    a, b = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")
    c, d = tf.get_variable("k", [2]), tf.get_variable("k", [2])
    assert (a.numpy(), b.numpy()) == (1.0, 2.0)
    assert c is not d


def test_a_store_shares_variables():
    store = tf.contrib.eager.EagerVariableStore()
    with store.as_default():
        first = tf.layers.dense(tf.ones([1, 2]), 3, name="d")
        again = tf.layers.dense(tf.ones([1, 2]), 3, name="d")
    np.testing.assert_array_equal(first.numpy(), again.numpy())
    assert [v.name for v in store.trainable_variables()] == ["d/bias:0", "d/kernel:0"]
    assert len(store.copy().variables()) == 2


def test_the_memory_of_a_variable_is_freed():
    for _ in range(3):  # what other tests left may hold more of it
        gc.collect()
    before = len(eager_resources.items("variable"))
    v = tf.Variable(tf.zeros([10]))
    assert len(eager_resources.items("variable")) == before + 1
    v.assign_add(tf.ones([10]))
    kinds = len(runner().kinds())
    del v
    gc.collect()
    assert len(eager_resources.items("variable")) == before
    assert len(runner().kinds()) < kinds  # what was compiled for it is gone, too


def test_kinds_of_operations_are_forgotten_when_they_are_many(monkeypatch):
    monkeypatch.setattr(eager_runtime, "_MOST_KINDS", len(runner().kinds()) + 4)
    tf.set_random_seed(1)
    first = tf.random_uniform([3]).numpy()
    for axis in range(8):
        tf.concat([tf.zeros([1] * 9), tf.zeros([1] * 9)], axis)
        tf.expand_dims(tf.zeros([1] * 9), axis)
        tf.reduce_sum(tf.zeros([1] * (axis + 1)))
    assert len(runner().kinds()) <= eager_runtime._MOST_KINDS + 1
    assert not np.array_equal(tf.random_uniform([3]).numpy(), first)


def test_an_optimizer_makes_steps():
    w = tf.Variable([[1.0], [2.0]])
    x = np.random.RandomState(0).randn(64, 2).astype("f")
    y = x @ np.array([[3.0], [-1.0]], "f")

    def loss():
        return tf.reduce_mean(tf.square(tf.matmul(x, w) - y))

    optimizer = tf.train.AdamOptimizer(0.1)
    for _ in range(200):
        optimizer.minimize(loss)
    np.testing.assert_allclose(w.numpy().ravel(), [3.0, -1.0], atol=0.01)
    step = tf.train.get_or_create_global_step()
    with tf.GradientTape() as tape:
        value = loss()
    grads = tape.gradient(value, [w])
    tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients(
        zip(grads, [w], strict=True), global_step=step
    )
    assert step.numpy() >= 1
    with pytest.raises(RuntimeError, match="should be a function"):
        optimizer.minimize(loss())


def test_slots_of_variables_of_one_name_are_apart():
    a, b = tf.Variable([1.0], name="v"), tf.Variable([1.0, 1.0], name="v")
    optimizer = tf.train.AdamOptimizer(0.1)
    optimizer.apply_gradients([(tf.constant([1.0]), a), (tf.constant([1.0, 1.0]), b)])
    assert optimizer.get_slot(a, "m").shape.as_list() == [1]
    assert optimizer.get_slot(b, "m").shape.as_list() == [2]


def test_a_variable_is_a_whole_number_where_it_has_a_value():
    assert int(tf.Variable(3)) == 3 and int(tf.Variable(2.5)) == 2
    with tf.Graph().as_default(), pytest.raises(TypeError, match="sess.run"):
        int(tf.Variable(3, use_resource=True))


def test_checkpoints(tmp_path):
    v = tf.Variable(3.0)
    saved = tf.train.Checkpoint(v=v)
    path = saved.save(str(tmp_path / "ck"))
    v.assign(0.0)
    saved.restore(path).assert_consumed()
    assert v.numpy() == 3.0
    saver = tf.contrib.eager.Saver([v, v])  # TensorFlow takes one twice there
    path = saver.save(str(tmp_path / "by_name"))
    v.assign(0.0)
    saver.restore(path)
    assert v.numpy() == 3.0


def test_a_variable_made_after_the_restore_has_its_value(tmp_path):
    first = tf.keras.layers.Dense(3)
    first(tf.ones([1, 2]))
    path = tf.train.Checkpoint(layer=first).save(str(tmp_path / "ck"))
    second = tf.keras.layers.Dense(3)
    status = tf.train.Checkpoint(layer=second).restore(path)
    second(tf.ones([1, 2]))
    np.testing.assert_array_equal(second.kernel.numpy(), first.kernel.numpy())
    status.assert_consumed()


def test_an_assignment_without_its_value_is_nothing_that_is_left() -> None:
    v = tf.Variable([1.0])
    assert v.assign([2.0], read_value=False) is None
    assert v.assign_add([3.0], read_value=False) is None
    assert v.assign_sub([1.0], read_value=False) is None
    assert v.numpy().tolist() == [4.0]
    v.load([7.0])
    assert v.numpy().tolist() == [7.0]


def test_collections_hold_what_a_program_adds() -> None:
    before = len(tf.get_collection("of_mine"))
    tf.add_to_collection("of_mine", 5)
    tf.add_to_collections(["of_mine", "others_of_mine"], 6)
    assert tf.get_collection("of_mine")[before:] == [5, 6]
    assert tf.get_collection_ref("others_of_mine")[-1] == 6
    v = tf.Variable(1.0)
    assert all(v is not kept for kept in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES))
    assert tf.get_collection("of nobody") == []


# ---- templates --------------------------------------------------------------------------------


def linear(x, unit=1.0):
    return x * tf.get_variable("w", [], initializer=tf.ones_initializer()) * unit


def test_calls_of_a_template_share_its_variables():
    first, second = tf.make_template("line", linear, unit=2.0), tf.make_template("line", linear)
    assert first(3.0).numpy() == 6.0 and second(3.0).numpy() == 3.0
    (w,) = first.variables
    w.assign(10.0)
    assert first(3.0).numpy() == 60.0 and second(3.0).numpy() == 3.0
    assert first.trainable_variables == [w] and second.variables[0] is not w
    assert [t.variable_scope_name for t in (first, second)] == ["line/", "line_1/"]
    with tf.GradientTape() as tape:
        loss = first(3.0)
    assert tape.gradient(loss, first.variables)[0].numpy() == 6.0
    assert tf.function(first)(3.0).numpy() == 60.0
    with pytest.raises(ValueError, match="unique_name_ cannot be used"):
        tf.make_template("line", linear, unique_name_="own")


def test_templates_inside_of_a_template():
    def both(x):
        return tf.make_template("in", linear)(x) + tf.make_template("in", linear)(x)

    outer = tf.make_template("out", both)
    assert outer(1.0).numpy() == 2.0
    assert [v.name for v in outer.variables] == ["out/in/w:0", "out/in_1/w:0"]
    outer.variables[0].assign(5.0)
    assert outer(1.0).numpy() == 6.0 and len(outer.variables) == 2


def test_a_template_that_is_called_again_makes_nothing_to_train():
    names = iter("abc")
    template = tf.make_template("more", lambda: tf.get_variable(next(names), []))
    template()
    with pytest.raises(
        ValueError, match="Trainable variable created when calling a template after"
    ):
        template()


def test_deep_copies_have_values_of_their_own():
    v = tf.Variable([1.0, 2.0], name="w", trainable=False)
    first, again = copy.deepcopy([v, v])
    assert first is again and first.name == "w_copy:0" and not first.trainable
    first.assign([5.0, 6.0])
    assert v.numpy().tolist() == [1.0, 2.0] and first.numpy().tolist() == [5.0, 6.0]

    class Held(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(1.0)

    held = Held()
    target = copy.deepcopy(held)
    held.v.assign(3.0)
    assert [w.numpy() for w in target.variables] == [1.0]
    dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
    dense.build((None, 3))
    other = copy.deepcopy(dense)
    other.kernel.assign(tf.zeros([3, 2]))
    assert dense.get_weights()[0].sum() == 6 and other(tf.ones([1, 3])).numpy().sum() == 0
    with tf.Graph().as_default():
        node = tf.Variable(1.0)
        with pytest.raises(NotImplementedError, match="'Variable' is a node of a graph"):
            copy.deepcopy(node)


def test_tensors_say_where_they_are():
    assert tf.constant(1.0).device == "/job:localhost/replica:0/task:0/device:CPU:0"
    with tf.device("/cpu:0"):
        assert (tf.ones([2]) + 1.0).device.endswith("CPU:0")
    with pytest.raises(RuntimeError, match="GPU:0 unknown"):
        tf.constant(1.0).gpu()
