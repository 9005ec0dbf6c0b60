"""Variables of contrib.framework: made, found, placed, and given values."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

framework = tf.contrib.framework


pytestmark = pytest.mark.usefixtures("graph")


def names(variables) -> list[str]:
    return [v.op.name for v in variables]


def test_each_kind_is_in_its_collections() -> None:
    with tf.variable_scope("A"):
        model = framework.model_variable("m", [2])
        framework.variable("v", [2], collections=["mine"])
    local = framework.local_variable(0, name="l")
    counted = framework.global_variable([1.0], name="g")
    assert framework.get_model_variables() == [model] and tf.get_collection("mine") != []
    assert tf.local_variables() == [local] and tf.global_variables() == [model, counted]
    assert tf.trainable_variables("A") != [] and counted not in tf.trainable_variables()


def test_found_by_name_suffix_and_pattern() -> None:
    for scope in ("one", "two"):
        with tf.variable_scope(scope):
            framework.model_variable("weights", [1])
            framework.model_variable("my_weights", [1])
    found = framework.get_variables_by_name("weights")
    assert names(found) == ["one/weights", "two/weights"]
    assert names(framework.get_variables_by_suffix("weights", "two")) == [
        "two/weights",
        "two/my_weights",
    ]
    assert names(framework.get_variables_by_name("one/weights")) == ["one/weights"]
    assert framework.get_unique_variable("two/weights") is found[1]
    with pytest.raises(ValueError, match="does not uniquely identify"):
        framework.get_unique_variable("weights")
    chosen = framework.filter_variables(tf.global_variables(), ["weights"], ["^two", "my_"])
    assert names(chosen) == ["one/weights"]
    assert framework.filter_variables(found, ["weights"], reg_search=False) == []


def test_devices_in_turn() -> None:
    choose = framework.VariableDeviceChooser(num_tasks=2)
    with tf.contrib.framework.arg_scope([framework.variable], device=choose):
        devices = [framework.variable(n, [1]).device for n in "abc"]
    assert devices == [f"/job:ps/task:{t}/device:CPU:0" for t in (0, 1, 0)]


def test_values_of_arrays_and_checkpoints(tmp_path) -> None:
    v = framework.model_variable("v", [2, 2])
    assign, feed = framework.assign_from_values({"v": [1.0, 2.0, 3.0, 4.0]})
    with tf.Session() as session:
        session.run(assign, feed)
        np.testing.assert_array_equal(session.run(v), [[1, 2], [3, 4]])
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        framework.assign_from_values_fn({"v": np.zeros(4)})(session)
        assert not session.run(v).any()
        assign, feed = framework.assign_from_checkpoint(path, [v])
        session.run(assign, feed)
        np.testing.assert_array_equal(session.run(v), [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"missing variable \[other\]"):
        framework.assign_from_checkpoint(path, {"other": v})
    framework.assign_from_checkpoint(path, {"other": v}, ignore_missing_vars=True)
    with pytest.raises(ValueError, match="Total size of new array must be unchanged"):
        framework.assign_from_values({"v": [1.0]})


def test_scopes_of_arguments_can_be_asked() -> None:
    layers = tf.contrib.layers
    assert framework.has_arg_scope(layers.conv2d) and not framework.has_arg_scope(len)
    assert "activation_fn" in framework.arg_scoped_arguments(layers.conv2d)
    with framework.arg_scope([layers.conv2d], stride=2):
        assert {"stride": 2} in framework.current_arg_scope().values()
    assert {"stride": 2} not in framework.current_arg_scope().values()


def test_nest_has_its_old_names() -> None:
    nest = framework.nest
    assert nest.is_sequence([1]) and not nest.is_sequence("ab")
    assert nest.flatten_up_to([0, 0], [[1, 2], 3]) == [[1, 2], 3]
    assert nest.map_structure_up_to({"a": 0}, lambda x, y: x + y, {"a": [1]}, {"a": [2]}) == {
        "a": [1, 2]
    }


def test_a_checkpoint_named_as_a_folder_lacks_variables(tmp_path) -> None:
    there, missing = tf.Variable(2.0, name="there"), tf.Variable(5.0, name="missing")
    (tmp_path / "model").mkdir()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver([there]).save(sess, str(tmp_path / "model"))
        sess.run(there.assign(0.0))
        framework.assign_from_checkpoint_fn(path, [there, missing], ignore_missing_vars=True)(sess)
        assert sess.run([there, missing]) == [2.0, 5.0]


def test_scopes_to_restore_are_a_list() -> None:
    for arguments in ({"include": "A"}, {"exclude": 3}):
        with pytest.raises(TypeError, match="list"):
            framework.get_variables_to_restore(**arguments)


def test_a_scope_has_functions_under_their_texts() -> None:
    framework = tf.contrib.framework

    def plain(a: int = 0) -> int:
        return a

    scoped = framework.add_arg_scope(plain)
    with framework.arg_scope([scoped], a=3) as scope:
        assert scope == {str(plain): {"a": 3}} and scoped._key_op == str(plain)
        assert scoped() == 3
