"""Private functions of TensorFlow's modules that published libraries call."""

from __future__ import annotations

import collections
import os
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


def test_ops_by_their_names_in_generated_modules() -> None:
    from dataflow.python.ops import gen_math_ops, gen_nn_ops, io_ops
    from dataflow.python.training import training_ops

    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([training_ops.apply_gradient_descent(v, 0.5, [2.0, 2.0])]):
        result = tf.identity(v)
    assert run_initialized(result).tolist() == [0.0, 1.0]
    assert run_initialized(gen_math_ops.mat_mul([[1.0]], [[2.0]], False, True)).tolist() == [[2.0]]
    assert callable(io_ops.restore_v2) and callable(gen_nn_ops.conv2d)
    with pytest.raises(AttributeError, match="no_such_op"):
        gen_math_ops.no_such_op
    with pytest.raises(TypeError, match="takes 5 arguments, got 6"):
        gen_math_ops.mat_mul([[1.0]], [[2.0]], False, True, "name", 6)


def test_a_function_with_a_gradient_of_its_own() -> None:
    from dataflow.python.framework import function

    @function.Defun(tf.float32, tf.float32, python_grad_func=lambda op, dy: [dy * 7, None])
    def first(x: object, y: object) -> object:
        assert x.dtype == tf.float32
        return tf.round(x) + 0 * y

    x, y = tf.constant(1.6), tf.constant(0.0)
    result = first(x, y)
    assert run_initialized([result, tf.gradients(result, [x])[0]]) == [2.0, 7.0]
    assert tf.gradients(result, [y]) == [None]
    with pytest.raises(ValueError, match="Expected number of arguments: 2, received: 1"):
        first(x)

    @function.Defun(tf.float32, func_name="Twice", shape_func=lambda op: [op.inputs[0].shape])
    def plain(x: object) -> object:
        return 2 * x

    assert run_initialized(plain(x)) == pytest.approx(3.2) and plain(x).op.name.startswith("Twice")


def test_gradient_function_of_a_defun_is_another() -> None:
    from dataflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def gradient(x: object, dy: object) -> object:
        return x * dy * 5

    @function.Defun(
        tf.float32, grad_func=gradient, shape_func=lambda op: [op.inputs[0].get_shape()]
    )
    def square(x: object) -> object:
        return tf.reshape(x * x, tf.placeholder_with_default([2], [1]))

    x = tf.constant([3.0, 4.0])
    assert square(x).shape.as_list() == [2]
    assert run_initialized(tf.gradients(square(x), [x])[0]).tolist() == [15.0, 20.0]


def test_case_is_decided_where_predicates_are_known() -> None:
    from dataflow.python.framework import smart_cond

    case = smart_cond.smart_case
    fed = tf.placeholder_with_default(False, [])
    assert case([(False, lambda: 1), (True, lambda: 2)], default=lambda: 3) == 2
    assert case({False: lambda: 1}, default=lambda: 3) == 3
    later = case(
        [(fed, lambda: tf.constant(1)), (True, lambda: tf.constant(2)), (fed, lambda: 1 / 0)]
    )
    assert run_initialized(later) == 2 and run_initialized(later, {fed: True}) == 1
    assert smart_cond.smart_constant_value(tf.constant(True)) is True
    assert smart_cond.smart_constant_value(fed) is None
    with pytest.raises(TypeError, match="pred"):
        smart_cond.smart_constant_value("yes")
    with pytest.raises(TypeError, match="callable"):
        smart_cond.smart_cond(True, 1, 2)


def test_classes_of_ones_own_are_fetched_and_fed() -> None:
    from dataflow.python.client import session

    class Pair:
        def __init__(self, a: object, b: object) -> None:
            self.a, self.b = a, b

    def register() -> None:
        session.register_session_run_conversion_functions(
            Pair,
            lambda p: ([p.a, p.b], lambda found: ("pair", *found)),
            lambda p, value: [(p.a, value), (p.b, value + 1)],
        )

    register()
    pair = Pair(tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, []))
    assert run_initialized(pair, {pair: 4}) == ("pair", 4, 5)
    with pytest.raises(ValueError, match="already been registered"):
        register()


def test_a_variable_scope_without_a_name_scope() -> None:
    from dataflow.python.ops import variable_scope

    with variable_scope._pure_variable_scope("inner"):
        v = tf.get_variable("v", [2])
        assert tf.constant(1.0).op.name == "Const"
    assert v.op.name == "inner/v"
    assert isinstance(variable_scope.variable([1.0], name="w"), tf.Variable)


def test_names_in_scopes_of_exports_and_imports() -> None:
    from dataflow.python.framework import ops

    assert ops.strip_name_scope("a/b/c", "a") == "b/c" and ops.strip_name_scope("x/b", "a") == "x/b"
    assert ops.strip_name_scope("^a/b", "a/") == "^b" and ops.strip_name_scope(3, "a") == 3
    assert ops.prepend_name_scope("b", "a") == "a/b" and ops.prepend_name_scope("^b", "a") == "^a/b"
    assert ops.name_from_scope_name("a/b/") == "a/b"
    assert [t.op.name for t in ops.convert_n_to_tensor([1, 2], name="n")] == ["n_0", "n_1"]
    assert ops.uid() != ops.uid() and not isinstance(tf.constant(1), ops.EagerTensor)
    assert ops._as_graph_element(3) is None


def test_static_shapes_and_tensors() -> None:
    from dataflow.python.framework import tensor_util
    from dataflow.python.ops import array_ops

    sizes = tf.stack([2, tf.placeholder(tf.int32, [])])
    assert tensor_util.constant_value_as_shape(sizes).as_list() == [2, None]
    assert tensor_util.is_tensor(sizes) and not tensor_util.is_tensor(np.ones(2))
    assert array_ops.shape_internal(tf.zeros([2]), optimize=False).op.type == "Shape"


@pytest.mark.parametrize("sizes", [[2, 3], [], [2, None], None])
def test_shapes_by_private_names(sizes: list[int | None] | None) -> None:
    x = tf.placeholder(tf.float32, sizes)
    assert x._shape_tuple() == (None if sizes is None else tuple(sizes))
    assert x._rank() == (None if sizes is None else len(sizes))
    assert x._shape_as_list() == sizes


def test_zero_states_of_cells_by_their_private_name() -> None:
    from dataflow.python.ops import rnn_cell_impl

    sizes = (tf.TensorShape([3]), 2)
    states = rnn_cell_impl._zero_state_tensors(sizes, tf.constant(4), tf.float32)
    with tf.Session() as session:
        assert [v.shape for v in session.run(states)] == [(4, 3), (4, 2)]


def test_a_session_tells_its_configuration_by_its_private_name() -> None:
    config = tf.ConfigProto(allow_soft_placement=True)
    assert tf.Session(config=config)._config is config


def test_convolution_that_is_kept() -> None:
    from dataflow.python.ops import nn_ops

    kept = nn_ops.Convolution([1, 4, 4, 1], [2, 2, 1, 3], "VALID", strides=[2, 2])
    assert kept(tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 3])).shape.as_list() == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("padding", "expected"), [("valid", (3, 1, 18)), ("same", (4, 7, 16)), ("full", (6, 13, 12))]
)
def test_lengths_of_convolutions(padding: str, expected: tuple[int, ...]) -> None:
    from dataflow.python.layers import utils

    found = (
        utils.conv_output_length(8, 4, padding, 2),
        utils.conv_output_length(7, 4, padding, 1, dilation=2),
        utils.deconv_output_length(8, 4, padding, 2),
    )
    assert found == expected
    assert utils.conv_output_length(None, 4, padding, 2) is None
    assert utils.convert_data_format("channels_first", 4) == "NCHW"
    assert utils.normalize_tuple(2, 3, "strides") == (2, 2, 2)
    for wrong in (lambda: utils.normalize_padding("x"), lambda: utils.normalize_data_format("x")):
        with pytest.raises(ValueError, match="must be one of"):
            wrong()
    with pytest.raises(ValueError, match="rank"):
        utils.convert_data_format("channels_last", 7)


def test_events_written_by_the_library_underneath(tmp_path: Path) -> None:
    from dataflow.core.util import event_pb2
    from dataflow.python import pywrap_tensorflow

    writer = pywrap_tensorflow.EventsWriter(os.fsencode(tmp_path / "events"))
    event = event_pb2.Event(step=3)
    event.summary.value.add(tag="loss", simple_value=0.5)
    writer.WriteEvent(event)
    assert writer.Flush() and writer.Close()
    (path,) = tmp_path.iterdir()
    first, second = tf.train.summary_iterator(str(path))
    assert first.file_version and (second.step, second.summary.value[0].tag) == (3, "loss")


def test_nobody_warns_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    from dataflow.python.util import deprecation

    old = deprecation.deprecated(None, "Use new.", warn_once=False)(lambda: 1)
    with deprecation.silence():
        assert old() == 1
    assert not caplog.records


def test_nested_structures_beyond_tf_nest() -> None:
    from dataflow.python.util import nest

    pair = collections.namedtuple("pair", "a b")
    assert tf.contrib.framework.nest.flatten_dict_items is nest.flatten_dict_items
    nest.assert_shallow_structure([1, pair(1, 2)], [2, pair([3], 4)])
    nest.assert_shallow_structure([1, 2], (3, 4), check_types=False)
    for error, shallow, whole in (
        (ValueError, [1, 2], [3]), (TypeError, [1, 2], (3, 4)), (TypeError, [1], 5),
        (ValueError, {"a": 1}, {"b": 1}),
    ):  # fmt: skip
        with pytest.raises(error):
            nest.assert_shallow_structure(shallow, whole)
    flat = nest.flatten_dict_items({(4, (6, 8)): ("a", ("c", "d")), 1: 2})
    assert flat == {4: "a", 6: "c", 8: "d", 1: 2}
    for error, wrong in (
        (ValueError, {(1, 2): (3, 4), 2: 5}),
        (ValueError, {(1, 2): 3}),
        (TypeError, [1]),
    ):
        with pytest.raises(error):
            nest.flatten_dict_items(wrong)
    structure = {"a": [1, pair(2, 3)], "b": 4}
    joined = dict(nest.flatten_with_joined_string_paths(structure))
    assert joined == {"a/0": 1, "a/1/a": 2, "a/1/b": 3, "b": 4}
    assert list(nest.yield_flattened_paths(structure))[1] == ("a", 1, "a")
    assert list(nest.yield_flat_paths(structure)) == list(nest.yield_flattened_paths(structure))
    assert nest.map_structure_with_paths(lambda p, x: f"{p}={x}", {"a": [1]}) == {"a": ["a/0=1"]}
    lists = nest.get_traverse_shallow_structure(lambda s: isinstance(s, (list, dict)), structure)
    assert lists == {"a": [False, False], "b": False}
    assert nest.map_structure(lambda x, y: x + y, [1, 2], (3, 4), check_types=False) == [4, 6]


def test_decorators_of_test_util() -> None:
    from dataflow.python.framework import test_util

    seen = []

    class Modes(tf.test.TestCase):
        @test_util.run_in_graph_and_eager_modes()
        def test_a(self) -> None:
            seen.append(self.evaluate(tf.constant(1) + 1))

        @test_util.run_v1_only("it is of graphs")
        def test_b(self) -> None:
            seen.append("b")

    decorated = test_util.run_all_in_graph_and_eager_modes(Modes)
    decorated("test_a").test_a()
    decorated("test_b").test_b()
    assert seen == [2] * 4 + ["b"] * 2  # each decorator runs it in a graph and in eager code
    assert not test_util.is_xla_enabled()


def test_shapes_that_can_be_broadcast_together() -> None:
    from dataflow.python.framework import common_shapes

    row, column = tf.TensorShape([1, None]), tf.TensorShape([4, 1])
    assert common_shapes.is_broadcast_compatible(row, column)
    assert common_shapes.broadcast_shape(row, column).as_list() == [4, None]
    assert not common_shapes.is_broadcast_compatible(tf.TensorShape([4]), tf.TensorShape([3]))
    assert not common_shapes.is_broadcast_compatible(row, tf.TensorShape(None))


def test_the_parts_of_a_variable() -> None:
    whole = tf.get_variable("w", [4, 1], partitioner=tf.fixed_size_partitioner(2))
    assert whole._get_variable_list() == list(whole)
    assert whole._get_partitions() == [2, 1]


def test_a_kept_value_is_deleted_by_its_name() -> None:
    with tf.Session() as session:
        name = session.run(tf.get_session_handle(tf.constant(50))).get_raw_handle()
        assert isinstance(name, str)
        holder, deleter = tf.delete_session_tensor(name)
        session.run(deleter, {holder: name})
        holder, value = tf.get_session_tensor(name, tf.int32)
        with pytest.raises(tf.errors.OpError):
            session.run(value, {holder: name})


def test_what_a_defun_says_of_itself() -> None:
    from dataflow.python.framework import function
    from dataflow.python.util import tf_should_use

    @function.Defun(tf.float32, func_name="slope")
    def back(x, y):
        return y

    @tf_should_use.should_use_result
    @function.Defun(tf.float32, tf.float32, func_name="added", grad_func=back)
    def add(x, y):
        return x + y

    assert (add.name, add.grad_func_name, add.python_grad_func) == ("added", "slope", None)
    assert add.declared_input_types == [tf.float32, tf.float32]
    assert add.captured_inputs == add.stateful_ops == []
    assert add(1.0, 2.0).op.name == "added"


def test_private_names_that_adanet_asks_for() -> None:
    from dataflow.python.ops.summary_ops_v2 import _INVALID_SCOPE_CHARACTERS
    from dataflow.python.training import device_setter

    assert _INVALID_SCOPE_CHARACTERS.sub("", "a b/c:0") == "ab/c0"
    strategy = device_setter._RoundRobinStrategy(2)
    assert [strategy(None) for _ in range(3)] == [0, 1, 0]


def test_a_summary_goes_into_collections_of_its_own_or_the_usual_ones() -> None:
    from dataflow.python.ops import summary_op_util

    one, other = tf.constant(b"1"), tf.constant(b"2")
    summary_op_util.collect(one, None, [tf.GraphKeys.SUMMARIES])
    summary_op_util.collect(other, ["mine", "yours"], [tf.GraphKeys.SUMMARIES])
    found = [tf.get_collection(key) for key in (tf.GraphKeys.SUMMARIES, "mine", "yours")]
    assert found == [[one], [other], [other]]


def test_values_of_parts_and_shapes_of_protos() -> None:
    from dataflow.python.framework import tensor_util
    from dataflow.python.ops import array_ops

    with tf.Graph().as_default(), tf.Session() as session:
        stacked = tf.stack([tf.constant([1, 2]), tf.placeholder(tf.int32)])
        assert tensor_util.constant_value(stacked) is None
        known, unknown = tensor_util.constant_value(stacked, partial=True)
        assert known.tolist() == [1, 2] and unknown is None
        whole = tensor_util.constant_value(tf.stack([1, 2]), partial=True)
        assert whole.tolist() == [1, 2]
        node = array_ops.rank_internal(tf.zeros([2, 3]), optimize=False)
        assert node.op.type == "Rank" and session.run(node) == 2
        assert array_ops.rank_internal(tf.zeros([2, 3])).op.type == "Const"
    proto = tensor_util.make_tensor_proto([1, 2, 3, 4], shape=[2, 2])
    assert tensor_util.ShapeEquals(proto, (2, 2))
    assert tensor_util.ShapeEquals(proto, tf.TensorShape([2, 2]).as_proto())
    assert not tensor_util.ShapeEquals(proto, [4])
    with pytest.raises(TypeError, match="TensorShapeProto"):
        tensor_util.ShapeEquals(proto, 4)


def test_tensors_as_slices() -> None:
    from dataflow.python.ops import math_ops

    with tf.Graph().as_default(), tf.Session() as session:
        dense = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        whole = math_ops._as_indexed_slices(dense)
        assert math_ops._as_indexed_slices(whole) is whole
        part = tf.IndexedSlices(dense, tf.constant([5, 7], tf.int64))
        mixed = math_ops._as_indexed_slices_list([dense, part])
        assert [s.indices.dtype for s in mixed] == [tf.int64, tf.int64]
        values, rows, sizes = session.run([whole.values, whole.indices, whole.dense_shape])
        assert (values.tolist(), rows.tolist(), sizes.tolist()) == (
            [[1, 2], [3, 4]],
            [0, 1],
            [2, 2],
        )
        assert session.run(tf.convert_to_tensor(whole)).tolist() == values.tolist()
        for wrong in (3.0, [dense]):
            with pytest.raises(TypeError, match="Not a Tensor"):
                math_ops._as_indexed_slices(wrong)
        with pytest.raises(TypeError, match="Expected a list"):
            math_ops._as_indexed_slices_list(dense)


def test_the_function_of_the_fused_lstm() -> None:
    from dataflow.contrib.rnn.python.ops import lstm_ops

    with tf.Graph().as_default(), tf.Session() as session:
        x = [tf.ones([2, 3]) * t for t in (1.0, 2.0, 3.0)]
        w, b = tf.fill([7, 16], 0.1), tf.zeros([16])
        given = lstm_ops._block_lstm(tf.constant(2, tf.int64), x, w, b, cell_clip=0)
        assert len(given) == 7 and all(len(part) == 3 for part in given)
        cell = tf.nn.rnn_cell.BasicLSTMCell(4)
        with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1)):
            outputs, _ = tf.nn.static_rnn(cell, x[:2], dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        found, wanted = session.run([given[-1], outputs])
        np.testing.assert_allclose(found[:2], wanted, rtol=1e-5)
        assert not found[2].any()
        with pytest.raises(ValueError, match="`b` shape"):
            lstm_ops._block_lstm(2, x, w, tf.placeholder(tf.float32, [None]))


def test_samples_are_drawn_or_given() -> None:
    from dataflow.contrib.bayesflow.python.ops import monte_carlo_impl

    with tf.Graph().as_default():
        normal = tf.distributions.Normal(0.0, 1.0)
        assert monte_carlo_impl._get_samples(normal, None, 5, 1).shape.as_list() == [5]
        assert monte_carlo_impl._get_samples(normal, [1.0, 2.0], None, 1).shape.as_list() == [2]
        with pytest.raises(ValueError, match="exactly one"):
            monte_carlo_impl._get_samples(normal, None, None, 1)


def test_functions_by_the_names_of_their_second_versions() -> None:
    from dataflow.python import second_versions
    from dataflow.python.ops import (
        array_ops,
        check_ops,
        embedding_ops,
        image_ops,
        math_ops,
        nn_ops,
        string_ops,
    )

    found = [
        array_ops.squeeze_v2([[1]], axis=[0]),
        array_ops.expand_dims_v2([1], 1),
        math_ops.argmax_v2([[1, 2]], axis=1),
        math_ops.reduce_sum_v1([1, 2]),
        nn_ops.dropout_v2([1.0], 0.0),
        string_ops.string_length_v2("abc"),
        embedding_ops.embedding_lookup_v2(tf.constant([[1.0], [2.0]]), [1]),
    ]
    with tf.Session() as session:
        values = [value.tolist() for value in session.run(found)]
    assert values == [[1], [[1]], [1], 3, [1.0], 3, [[2.0]]]
    assert callable(image_ops.crop_and_resize_v2)
    assert check_ops.assert_equal_v2(1, 1, message="in place of data").type == "NoOp"
    for name in dir(second_versions):
        assert callable(getattr(second_versions, name)), name
    with pytest.raises(AttributeError, match="no_such_v2"):
        second_versions.no_such_v2
