"""Helpers of TensorFlow's private modules: what they do, beside that they are there."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import data_nest
from dataflow.python.client import session
from dataflow.python.eager.context import eager_mode, list_devices
from dataflow.python.framework import test_util
from dataflow.python.ops import gradient_checker, gradient_checker_v2, sparse_ops, variables
from dataflow.python.ops.ragged import ragged_test_util
from dataflow.python.util.serialization import get_json_type


def test_gradient_checker_takes_a_jacobian_in_parts() -> None:
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float32, [2])
        dx, dy = gradient_checker._compute_dx_and_dy(x, x * x, [2])
        start = np.array([1.0, 3.0], np.float32)
        theory = gradient_checker._compute_theoretical_jacobian(x, [2], start, dy, [2], dx, None)
        assert theory.tolist() == [[2.0, 0.0], [0.0, 6.0]]
        numeric = gradient_checker._compute_numeric_jacobian(
            x, [2], start, x * x, [2], 2.0**-8, None
        )
        np.testing.assert_allclose(numeric, theory, rtol=1e-4)


def test_gradient_checker_v2_gives_a_jacobian_for_each_argument() -> None:
    with tf.Graph().as_default(), tf.Session():
        x, y = np.array([1.0, 2.0]), np.array([[3.0], [4.0]])
        theory, numeric = gradient_checker_v2.compute_gradient(
            lambda a, b: tf.reduce_sum(a[:, None] * b, 0), [x, y]
        )
        np.testing.assert_allclose(theory[0], [[3.0], [4.0]])  # [elements of a, elements of f]
        np.testing.assert_allclose(theory[1], [[1.0], [2.0]])
        assert gradient_checker_v2.max_error(theory, numeric) < 1e-6
        assert gradient_checker_v2.max_error([np.ones(2)], [np.array([1.0, 3.0])]) == 2.0
        assert np.isnan(gradient_checker_v2.max_error([np.array([np.nan, 0.0])], [np.ones(2)]))
        with pytest.raises(ValueError, match="must be a list"):
            gradient_checker_v2.compute_gradient(tf.square, 1.0)


def test_gradient_checker_v2_in_eager_code() -> None:
    with eager_mode():
        _check_jacobians_of_eager_code()


def _check_jacobians_of_eager_code() -> None:
    def function(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        assert not isinstance(a.numpy(), tf.Tensor)  # it runs line by line
        return tf.concat([tf.real(a * a) * b[:1], tf.gather(b, [1])], 0)

    x, y = np.array([1.0 + 2.0j]), tf.constant([3.0, 4.0], tf.float64)
    theory, numeric = gradient_checker_v2.compute_gradient(function, [x, y])
    np.testing.assert_allclose(theory[0], [[6.0, 0.0], [-12.0, 0.0]])
    np.testing.assert_allclose(theory[1], [[-3.0, 0.0], [0.0, 1.0]])
    assert gradient_checker_v2.max_error(theory, numeric) < 1e-6
    constant, _ = gradient_checker_v2.compute_gradient(lambda a: tf.ones([2]), [tf.ones([3])])
    np.testing.assert_array_equal(constant[0], np.zeros((3, 2)))


def test_what_json_has_for_other_objects() -> None:
    layer = tf.keras.layers.Dense(2)
    assert get_json_type(layer)["class_name"] == "Dense"
    assert get_json_type(np.float32(0.5)) == 0.5 and get_json_type(np.arange(2)) == [0, 1]
    assert get_json_type(tf.nn.relu) == "relu" and get_json_type(tf.Dimension(3)) == 3
    assert get_json_type(tf.TensorShape([None, 2])) == [None, 2]
    assert get_json_type(types.MappingProxyType({"a": 1})) == {"a": 1}
    with pytest.raises(TypeError, match="Not JSON"):
        get_json_type(object.__new__(object))


def test_devices_by_the_names_of_private_modules() -> None:
    (device,) = list_devices()
    listed = session._DeviceAttributes(device, "CPU", 1024, 7)
    assert (listed.name, listed.device_type, listed.memory_limit_bytes) == (device, "CPU", 1024)
    assert issubclass(tf.Session, session.BaseSession)


def test_lists_are_leaves_of_an_element_of_a_dataset() -> None:
    nested = ({"b": [1, 2], "a": 3}, 4)
    assert data_nest.flatten(nested) == [3, [1, 2], 4]
    assert data_nest.pack_sequence_as(nested, "xyz") == ({"b": "y", "a": "x"}, "z")
    assert data_nest.map_structure(lambda a, b: (a, b), nested[0], nested[0])["a"] == (3, 3)
    with pytest.raises(ValueError, match="2 elements"):
        data_nest.pack_sequence_as((1, 2), [1])
    with pytest.raises(ValueError):
        data_nest.assert_same_structure((1, 2), (1, (2, 3)))
    with pytest.raises(TypeError):
        data_nest.assert_same_structure((1,), {"a": 1})


def test_a_ref_variable_is_no_resource_variable() -> None:
    with tf.Graph().as_default():
        with tf.variable_scope("v", use_resource=True):
            ref, resource = variables.RefVariable(1.0), tf.Variable(1.0)
            assert type(ref) is tf.Variable
            assert type(resource).__name__ == "ResourceVariable"
    assert isinstance(ref, variables.RefVariable)
    assert not isinstance(resource, variables.RefVariable)


def test_decorators_and_helpers_of_tests() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.zeros([2, 3, 4, 5], name="x")
        assert test_util.NHWCToNCHW(x).shape.as_list() == [2, 5, 3, 4]
        assert test_util.NCHWToNHWC([2, 5, 3, 4]) == [2, 3, 4, 5]
        with test_util.force_cpu():
            assert tf.zeros([]).device == "/device:CPU:0"
        assert set(test_util.assert_ops_in_graph({"x": "Const"}, graph)) == {"x"}
        with pytest.raises(ValueError, match="different"):
            test_util.assert_ops_in_graph({"x": "Add"}, graph)
        with pytest.raises(ValueError, match="present"):
            test_util.assert_ops_in_graph({"y": "Add"}, graph)
    ran = []
    test_util.skip_if(True)(lambda _: ran.append(1))(None)
    test_util.skip_if(lambda: False)(lambda _: ran.append(2))(None)
    assert ran == [2]
    made = test_util.generate_combinations_with_testcase_name(mode=["a", "b"], n=[1])
    assert [dict(m) for m in made] == [
        {"mode": "a", "n": 1, "testcase_name": "_test_mode_a_n_1"},
        {"mode": "b", "n": 1, "testcase_name": "_test_mode_b_n_1"},
    ]


def test_ragged_comparisons_can_fail() -> None:
    case = ragged_test_util.RaggedTensorTestCase()
    with tf.Graph().as_default(), tf.Session():
        rt = tf.ragged.constant([[1, 2], [], [3]])
        case.assertRaggedEqual(rt, [[1, 2], [], [3]])
        case.assertRaggedAlmostEqual(tf.ragged.constant([[1.0]]), [[1.00000001]])
        case.assertAllEqual(rt, [[1, 2], [], [3]])
        for wrong in ([[1, 2], [3], []], [[1, 2], [], [4]]):
            with pytest.raises(AssertionError):
                case.assertRaggedEqual(rt, wrong)
            with pytest.raises(AssertionError):
                case.assertAllEqual(rt, wrong)


def test_names_of_sparse_ops() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(sparse_ops.sparse_eye(2)).values.tolist() == [1.0, 1.0]
        assert sparse_ops.sparse_expand_dims(sparse_ops.sparse_eye(2), 0).shape.as_list() == [
            1,
            2,
            2,
        ]


def test_messages_that_tensorboard_does_not_ship() -> None:
    from dataflow.core.example import example_pb2, feature_pb2
    from dataflow.core.protobuf import config_pb2, queue_runner_pb2, tensorflow_server_pb2

    assert example_pb2.Example is tf.train.Example
    assert feature_pb2.Feature is tf.train.Feature
    assert queue_runner_pb2.QueueRunnerDef(queue_name="q").queue_name == "q"
    assert tensorflow_server_pb2.ServerDef is tf.train.ServerDef
    options = config_pb2.RPCOptions(use_rpc_for_inprocess_master=True)
    assert config_pb2.ConfigProto(rpc_options=options).rpc_options.use_rpc_for_inprocess_master


def test_reads_of_the_global_step_before_it_is_raised() -> None:
    from dataflow.python.training import training_util

    with tf.Graph().as_default():
        assert training_util._get_or_create_global_step_read() is None
        tf.train.create_global_step()
        read = training_util._get_or_create_global_step_read()
        assert training_util._get_or_create_global_step_read() is read
        steps = [training_util._increment_global_step(n) for n in (1, 3)]
        with tf.train.MonitoredTrainingSession() as sess:
            assert [sess.run([read, step])[0] for step in steps] == [0, 1]
            assert sess.run(read) == 4


def test_tensors_that_layers_ask_about() -> None:
    from dataflow.keras.utils import tf_utils

    class Own:
        """Stands for a tensor."""

    def converted(
        value: Own, dtype: object = None, name: object = None, as_ref: bool = False
    ) -> Any:
        return tf.constant(1)

    tf.register_tensor_conversion_function(Own, converted)
    with tf.Graph().as_default():
        assert tf_utils.is_symbolic_tensor(tf.constant(1))
        assert tf_utils.is_symbolic_tensor(tf.SparseTensor([[0]], [1], [2]))
        assert not tf_utils.is_symbolic_tensor(Own())
        tf_utils.register_symbolic_tensor_type(Own)
        assert tf_utils.is_symbolic_tensor(Own())
    assert tf_utils.convert_shapes([tf.TensorShape([1, None]), (2, 3)]) == [(1, None), (2, 3)]
    wrapped = (tf_utils.ListWrapper(["l", 2, 3]), [["m", 5, 6]])
    assert tf_utils.convert_inner_node_data(wrapped) == (["l", 2, 3], [["m", 5, 6]])
    inner = tf_utils.convert_inner_node_data((["l", 2, 3],), wrap=True)
    assert isinstance(inner[0], tf_utils.ListWrapper)
    assert tf.keras.utils.generic_utils.slice_arrays([1, [2, 3]], 0, 1) == [None, [2]]
    for bad in ([None], [-1.0]):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            tf.keras.metrics.FalsePositives(thresholds=bad)


def test_parts_of_saved_objects_and_heads_under_their_private_names() -> None:
    from dataflow.contrib.estimator.python.estimator import multi_head
    from dataflow.python.training.tracking import base, data_structures

    assert multi_head._MultiHead is tf.estimator.MultiHead
    assert issubclass(tf.train.Checkpoint, base.Trackable)
    part = base.TrackableReference(name="w", ref=1)
    assert (part.name, part.ref) == ("w", 1)

    class Holder(base.Trackable):
        @base.no_automatic_dependency_tracking
        def __init__(self) -> None:
            with base.no_automatic_dependency_tracking_scope(self):
                self.names = data_structures.NoDependency(["a"])

    assert Holder().names == ["a"]


def test_what_a_saver_saves_may_be_a_class_of_the_programs_own(tmp_path) -> None:
    from dataflow.python.training import saver, saver_test_utils

    assert issubclass(
        saver_test_utils.CheckpointedOp.CustomSaveable, saver.BaseSaverBuilder.SaveableObject
    )
    with tf.Graph().as_default(), tf.Session() as sess:
        table = saver_test_utils.CheckpointedOp("table")
        sess.run(table.insert("k", 30.0))
        path = tf.train.Saver({"table": table.saveable}).save(sess, str(tmp_path / "table"))
    with tf.Graph().as_default(), tf.Session() as sess:
        table = saver_test_utils.CheckpointedOp("table")
        assert len(sess.run(table.keys())) == 0
        tf.train.Saver().restore(sess, path)  # it is in the collection of what is saved
        assert sess.run([table.keys(), table.values()]) == [[b"k"], [30.0]]
        assert sess.run(table.lookup("k", -1.0)) == 30.0


def test_a_property_is_computed_once_for_each_object() -> None:
    from dataflow.python.training.tracking import tracking

    calls = []

    class Frozen(tracking.AutoTrackable):
        def __setattr__(self, name, value):
            raise ValueError("frozen")

        @property
        @tracking.cached_per_instance
        def number(self):
            calls.append(self)
            return len(calls)

    one, two = Frozen(), Frozen()
    assert (one.number, two.number, one.number, two.number) == (1, 2, 1, 2)
    assert len(calls) == 2


def test_resources_are_listed_by_the_trackers_around_them() -> None:
    from dataflow.python.training.tracking import tracking

    class Named(tracking.TrackableResource):
        def __init__(self, name):
            self.name = name
            super().__init__()

        def _create_resource(self):
            return self.name

    outer, inner = tracking.ResourceTracker(), tracking.ResourceTracker()
    with tracking.resource_tracker_scope(outer):
        Named("a")
        with tracking.resource_tracker_scope(inner):
            Named("b")
    Named("c")
    assert [each.resource_handle for each in outer.resources] == ["a", "b"]
    assert [each.resource_handle for each in inner.resources] == ["b"]


def test_structures_of_elements() -> None:
    from dataflow.python.data.ops import dataset_ops
    from dataflow.python.data.util import structure

    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1.0], [3])
        dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3])
        spec = structure.type_spec_from_value({"a": 37.0, "b": (sparse, dataset)})
        assert spec == {
            "a": tf.TensorSpec([], tf.float32),
            "b": (
                tf.SparseTensorSpec([3], tf.float32),
                dataset_ops.DatasetSpec(tf.TensorSpec([], tf.int32)),
            ),
        }
        assert tf.data.DatasetSpec(spec) == tf.data.DatasetSpec(dict(spec))
        assert structure.get_flat_tensor_types(spec) == [tf.float32, tf.variant, tf.variant]
        assert structure.get_flat_tensor_shapes(spec["b"][1]) == [tf.TensorShape([])]
        assert structure.are_compatible(
            spec, structure.type_spec_from_value({"a": 1.0, "b": (sparse, dataset)})
        )
        assert not structure.are_compatible(spec, {"a": spec["a"]})
        assert not structure.are_compatible(
            tf.TensorSpec([2], tf.int32), tf.TensorSpec([3], tf.int32)
        )
        legacy = structure.convert_legacy_structure(
            dataset_ops.get_legacy_output_types(dataset),
            dataset_ops.get_legacy_output_shapes(dataset),
            dataset_ops.get_legacy_output_classes(dataset),
        )
        assert legacy == tf.TensorSpec([], tf.int32)
        element = (tf.constant(1.0), sparse)
        pair = structure.type_spec_from_value(element)
        there = structure.from_tensor_list(pair, structure.to_tensor_list(pair, element))
        with tf.Session() as sess:
            number, again = sess.run(there)
        assert (number, again.values.tolist()) == (1.0, [1.0])
        with pytest.raises(ValueError, match="Expected 2 tensors but got 1"):
            structure.from_tensor_list(pair, [tf.constant(1.0)])
        with pytest.raises(TypeError, match="Could not build a TypeSpec"):
            structure.type_spec_from_value(object())
