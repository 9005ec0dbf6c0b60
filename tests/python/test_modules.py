"""Small private modules of TensorFlow that programs import at their top."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import dataflow as tf


def test_debugger_is_refused_when_it_is_used_and_not_when_it_is_imported() -> None:
    from dataflow.python import debug

    assert debug.has_inf_or_nan(None, np.array([1.0, np.nan]))
    assert not debug.has_inf_or_nan(None, np.array([1.0, 2.0]))
    assert not debug.has_inf_or_nan(None, np.array(["inf"])) and not debug.has_inf_or_nan(
        None, None
    )
    with tf.Session() as session, pytest.raises(NotImplementedError, match=r"explain\(fetches\)"):
        debug.LocalCLIDebugWrapperSession(session)
    hook = debug.DumpingDebugHook("folder")  # programs make one, and use it with --debug alone
    with pytest.raises(NotImplementedError, match="debug.DumpingDebugHook: tfdbg is not here"):
        tf.train.MonitoredSession(hooks=[hook])


def test_version_2_is_off_and_names_stay() -> None:
    from dataflow.python import tf2
    from dataflow.python.util import all_util

    assert tf2.enabled() is False
    before = all_util.make_all(tf2.__name__)
    all_util.remove_undocumented(tf2.__name__)
    assert all_util.make_all(tf2.__name__) == before and "enabled" in before


def test_modules_have_each_other_as_names() -> None:
    from dataflow.python.ops.gradients import math_ops
    from dataflow.python.ops.rnn import rnn_cell_impl

    assert rnn_cell_impl.LSTMCell is tf.nn.rnn_cell.LSTMCell and math_ops.add is tf.add


def test_input_spec_where_layers_of_programs_look() -> None:
    from dataflow.python.keras.engine import input_spec

    assert input_spec.InputSpec is tf.keras.layers.InputSpec


@pytest.mark.parametrize("name", ["Adadelta", "Adagrad", "Adam", "Ftrl", "Momentum", "RMSProp"])
def test_optimizers_are_direct_subclasses(name: str) -> None:
    assert getattr(tf.train, f"{name}Optimizer").__base__ is tf.train.Optimizer


def test_modules_have_the_ops_of_their_generated_ones() -> None:
    from dataflow.python.ops import (
        data_flow_ops,
        gen_string_ops,
        linalg_ops,
        sparse_ops,
        string_ops,
    )

    with tf.Session() as session:
        assert session.run(string_ops.string_lower(["aB"])).tolist() == [b"ab"]
        assert session.run(gen_string_ops.static_regex_full_match(["ab"], "a.")).tolist() == [True]
        words = session.run(string_ops.string_split_v2(["a b"], maxsplit=1))
        assert words.values.tolist() == [b"a", b"b"]
    assert sparse_ops.sparse_dense_cwise_add and linalg_ops.matrix_inverse
    assert data_flow_ops.stage


def test_protocol_buffers_of_examples_by_path() -> None:
    from dataflow.core.example import example_pb2, feature_pb2

    assert example_pb2.Example is tf.train.Example and feature_pb2.Feature is tf.train.Feature


def test_switch_and_merge_of_sparse_values() -> None:
    from dataflow.python.ops import control_flow_ops

    yes = tf.constant(True)
    dense = control_flow_ops.switch([1, 2], yes)
    slices = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 4]))
    sparse = tf.SparseTensor([[1]], [3.0], [4])
    merged, number = control_flow_ops.merge([dense[0] + 1, dense[1] * 5])
    rows = control_flow_ops.merge(control_flow_ops.switch(slices, yes)).output
    part = control_flow_ops.merge(control_flow_ops.switch(sparse, yes)).output
    with tf.Session() as session:
        assert session.run(merged).tolist() == [5, 10] and session.run(number) == 1
        assert session.run(rows.values).tolist() == [1.0, 2.0] and rows.dense_shape is None
        assert session.run(part).indices.tolist() == [[1]]
    with pytest.raises(ValueError, match="is None"):
        control_flow_ops.merge([dense[0], None])


def test_dependencies_of_a_number() -> None:
    from dataflow.python.ops import control_flow_ops

    v = tf.Variable(0)
    after = control_flow_ops.with_dependencies([tf.assign(v, 3)], 7)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(after) == 7 and session.run(v) == 3


def test_functions_under_the_names_of_their_modules(capfd: pytest.CaptureFixture[str]) -> None:
    from dataflow.python.eager import backprop
    from dataflow.python.framework import ops
    from dataflow.python.ops import critical_section_ops, logging_ops
    from dataflow.python.ops.linalg import linalg_impl

    assert ops.enable_eager_execution is tf.enable_eager_execution
    assert backprop.GradientTape is tf.GradientTape
    assert backprop.implicit_grad is tf.contrib.eager.implicit_gradients
    assert backprop.gradients_function is tf.contrib.eager.gradients_function
    with tf.name_scope("outer"):
        assert ops.get_name_scope() == "outer"
    assert critical_section_ops.CriticalSection is tf.CriticalSection
    sparse = tf.SparseTensor([[0, 1]], [5], [2, 2])
    with tf.Session() as session:
        session.run(logging_ops.print_v2("a", {"b": tf.range(3)}, sparse, sep="|", end="!"))
        np.testing.assert_array_equal(
            session.run(linalg_impl.matrix_exponential(tf.zeros([2, 2]))), np.eye(2)
        )
    assert capfd.readouterr().err == (
        "a|{'b': [0 1 2]}|'SparseTensor(indices=[[0 1]], values=[5], shape=[2 2])'!"
    )


def test_a_variable_by_its_handle() -> None:
    from dataflow.python.framework import test_util
    from dataflow.python.ops import resource_variable_ops as rv

    class Handles(test_util.TensorFlowTestCase):
        @test_util.run_in_graph_and_eager_modes
        def test_it(self) -> None:
            handle = rv.var_handle_op(dtype=tf.int32, shape=[1, 1], shared_name="handles")
            self.evaluate(rv.assign_variable_op(handle, tf.constant([[6]])))
            self.evaluate(rv.resource_scatter_min(handle, [0], tf.constant(3)))
            assert self.evaluate(rv.read_variable_op(handle, tf.int32)) == [[3]]
            self.evaluate(rv.destroy_resource_op(handle))
            with pytest.raises(tf.errors.OpError):
                self.evaluate(rv.read_variable_op(handle, tf.int32))

    Handles("test_it").debug()


def test_devices_by_their_private_module() -> None:
    from dataflow.python.framework import device, device_spec

    assert device.canonical_name(None) == "" and device.canonical_name("/cpu:0") == "/device:CPU:0"
    assert device.canonical_name(tf.DeviceSpec(job="ps")) == "/job:ps"
    device.check_valid("/job:ps/replica:0")
    with pytest.raises(ValueError, match="barcpugpu"):
        device.check_valid("/barcpugpu:muu/baz:2")
    for kind in (device_spec.DeviceSpecV1, device_spec.DeviceSpecV2):
        assert kind.from_string("/device:Mine:2").to_string() == "/device:Mine:2"
    with tf.device(device.merge_device("/device:GPU:0")):
        with tf.device(device.merge_device("/job:worker")):
            assert tf.constant(1.0).device == "/job:worker/device:GPU:0"
            with tf.device(device.merge_device(tf.DeviceSpec(device_type="CPU"))):
                assert tf.constant(1.0).device == "/job:worker/device:CPU:0"


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("gen_logging_ops", set()),
        ("gen_math_ops", {"round"}),
        ("math_ops", {"abs", "complex", "pow", "range", "round"}),
        ("array_ops", {"slice"}),
        ("control_flow_ops", {"exit", "tuple"}),
        ("nn_ops", set()),
        ("standard_ops", {"abs", "complex", "pow", "range", "round", "slice", "tuple"}),
    ],
)
def test_a_starred_import_leaves_pythons_names_as_tensorflow_does(
    path: str, taken: set[str]
) -> None:
    names: dict[str, object] = {}
    exec(f"from dataflow.python.ops.{path} import *", names)
    names.pop("__builtins__")
    assert {name for name in names if hasattr(builtins, name)} == taken
    assert not names.keys() & {"io", "math", "queue", "random", "signal"}


def test_a_starred_import_takes_ops() -> None:
    names: dict[str, object] = {}
    exec("from dataflow.python.ops.gen_math_ops import *", names)
    assert {"mat_mul", "select", "trace"} <= names.keys()
