"""Small private modules of TensorFlow that programs import at their top."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf


def test_debugger_is_refused_when_it_is_made_and_not_when_it_is_imported() -> None:
    from dataflow.python import debug

    assert debug.has_inf_or_nan(None, np.array([1.0, np.nan]))
    assert not debug.has_inf_or_nan(None, np.array([1.0, 2.0]))
    assert not debug.has_inf_or_nan(None, np.array(["inf"])) and not debug.has_inf_or_nan(
        None, None
    )
    with tf.Session() as session, pytest.raises(NotImplementedError, match=r"explain\(fetches\)"):
        debug.LocalCLIDebugWrapperSession(session)
    with pytest.raises(NotImplementedError, match="debug.DumpingDebugHook: tfdbg is not here"):
        debug.DumpingDebugHook("folder")


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
