"""What TensorFlow 1.15's own tests expect to be refused, and values at the edge of that."""

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.framework import tensor_util
from tests.running import run

pytestmark = pytest.mark.usefixtures("graph")


def test_texts_keep_zeros_at_their_end():
    assert run(tf.constant(["a\0", "b"])).tolist() == [b"a\0", b"b"]
    assert run(tf.constant("a\0")) == b"a\0"
    assert run(tf.decode_raw(["\x01\0"], tf.int16)).tolist() == [[1]]


@pytest.mark.parametrize("mixed", [["a", 1], [1, "a"], [["a"], [2.5]]])
def test_texts_and_numbers_make_no_tensor(mixed):
    with pytest.raises(TypeError, match=r"Failed to convert|Expected string"):
        tf.constant(mixed)
    with pytest.raises(TypeError, match=r"Failed to convert|Expected string"):
        tf.make_tensor_proto(mixed)
    with pytest.raises(TypeError):
        tf.stack(mixed)


def test_make_tensor_proto_verifies_the_shape():
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[3])).tolist() == [1, 2, 2]
    with pytest.raises(TypeError, match="shape"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)


def test_more_values_are_known_before_a_run():
    empty = tf.placeholder(tf.float32, [0, None])
    assert tensor_util.constant_value(tf.size(empty)) == 0
    assert tensor_util.constant_value(tf.equal(1, 1)) == np.True_
    assert tensor_util.constant_value(tf.not_equal([1, 2], [1, 3])).tolist() == [False, True]
    assert tensor_util.constant_value(tf.equal(tf.placeholder(tf.int32, []), 1)) is None


def test_uninitialized_variables_are_found():
    variable = tf.Variable([1.0], name="v")
    assert tf.assert_variables_initialized([]) is None
    check = tf.assert_variables_initialized()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            sess.run(check)
        sess.run(variable.initializer)
        sess.run(check)


def test_updates_have_no_gradient():
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(LookupError, match="No gradient defined"):
        tf.gradients(tf.scatter_update(variable, [0], [3.0]), variable)
    assert tf.gradients(tf.scatter_add(variable, [0], [3.0]), variable) == [None]
    update = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.ones([2]), variable)])
    trained = update.control_inputs[0]
    with pytest.raises(LookupError, match="No gradient defined"):
        tf.gradients(trained.outputs[0], variable)


def test_scopes_templates_and_variables_check_their_arguments():
    with pytest.raises(ValueError, match="reuse"):
        tf.variable_scope("s", reuse=5)

    def double(x):
        return x * 2

    assert tf.make_template("t", double).func is double
    variable = tf.Variable(1)
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.Variable(2, variable_def=variable.to_proto())


def test_arguments_out_of_range():
    with pytest.raises(ValueError, match="num_split"):
        tf.split(tf.zeros([4]), 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_lower"):
        run(tf.matrix_band_part(np.ones((3, 4)), 4, 0))
    assert run(tf.matrix_band_part(np.ones((3, 4)), 3, 4)).tolist() == np.ones((3, 4)).tolist()
    with pytest.raises(ValueError, match="rank 1"):
        tf.TensorArray(tf.float32, 2).split([1.0, 2.0], 1)


def test_features_of_examples_need_a_type():
    with pytest.raises(ValueError, match="Missing type"):
        tf.parse_example(["x"], {"a": tf.FixedLenFeature([2], None)})
    with pytest.raises(ValueError, match="Missing index_key"):
        tf.parse_example(["x"], {"a": tf.SparseFeature(None, "v", tf.float32, 10)})
    with pytest.raises(ValueError, match="Unsupported"):
        tf.parse_example(["x"], {"a": 5})


def test_import_graph_def_checks_its_arguments():
    with tf.Graph().as_default() as other:
        tf.constant(1, name="one")
    proto = other.as_graph_def()
    assert tf.import_graph_def(proto, return_elements=[b"one:0"])[0].op.type == "Const"
    with pytest.raises(TypeError, match="input_map"):
        tf.import_graph_def(proto, input_map=[1])
    for wrong in (7, [5]):
        with pytest.raises(TypeError, match="return_elements"):
            tf.import_graph_def(proto, return_elements=wrong)


def test_the_single_element_of_a_dataset_is_made_again_and_is_alone():
    single = tf.data.experimental.get_single_element
    data = tf.data.Dataset
    sparse = tf.SparseTensor([[0]], ["a"], [2])
    number, (text, part) = single(data.from_tensors((7, (["x", "y"], sparse))))
    with tf.Session() as sess:
        for _ in range(2):
            assert sess.run(number) == 7 and sess.run(text).tolist() == [b"x", b"y"]
        assert sess.run(part).values.tolist() == [b"a"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one"):
            sess.run(single(data.range(2)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty"):
            sess.run(single(data.range(0)))


def test_padding_values_are_of_the_components_kind():
    data = tf.data.Dataset.range(3)
    with pytest.raises(TypeError, match="padding_values"):
        data.padded_batch(2, [], padding_values="a")
    assert data.padded_batch(2, [], padding_values=1) is not None


def test_crops_of_images_that_are_not_there():
    crops = tf.image.crop_and_resize(tf.ones([1, 4, 4, 1]), [[0.0, 0, 1, 1]], [5], [2, 2])
    with pytest.raises(tf.errors.OutOfRangeError, match="box_index"):
        run(crops)


def test_strings_are_split_into_bytes():
    assert run(tf.strings.bytes_split("ab")).tolist() == [b"a", b"b"]
    assert run(tf.strings.bytes_split(["ab", "", "c"])).to_list() == [[b"a", b"b"], [], [b"c"]]
    with pytest.raises(ValueError, match="vector"):
        tf.strings.bytes_split([["a"]])


def test_nothing_cannot_be_merged():
    from dataflow.python.ops import control_flow_ops

    with pytest.raises(ValueError, match="None"):
        control_flow_ops.merge([None, tf.constant(1)])
    with pytest.raises(ValueError, match="at least one"):
        tf.summary.merge([])
    with pytest.raises(TypeError, match="string"):
        tf.no_gradient(5)


def test_sizes_and_places_that_are_negative() -> None:
    from dataflow.python.ops import gen_math_ops, nn_ops

    with pytest.raises(ValueError, match="non-negative"):
        nn_ops.nth_element([5], -1)
    with pytest.raises(ValueError, match="at least rank 1 but is rank 0"):
        nn_ops.nth_element(5, 0)
    with pytest.raises(ValueError, match="must have last dimension > n = 2"):
        nn_ops.nth_element([[1.0, 2.0]], 2)
    fed, n = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    element = nn_ops.nth_element(fed, n)
    with tf.Session() as session:
        for value, place, message in (
            (5.0, 0, "Input must be >= 1-D"),
            ([1.0, 2.0], -7, "Need n >= 0, got -7"),
            ([1.0, 2.0], 2, r"Input must have at least n\+1 columns"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(element, {fed: value, n: place})
    with pytest.raises(ValueError, match="non-negative"):
        gen_math_ops.bincount([1, 2], -5, [])
    with pytest.raises(ValueError, match="scalar"):
        gen_math_ops.bincount([1, 2], [1], [])


def test_parts_of_a_variable_must_fit_together() -> None:
    from dataflow.python.ops import variables

    def whole(parts: Any, shape: Any = (2,), partitions: Any = (2,)) -> Any:
        return variables.PartitionedVariable(
            name="whole", shape=shape, dtype=tf.int32, variable_list=parts, partitions=partitions
        )

    with tf.Graph().as_default():
        parts = [tf.Variable([i]) for i in range(2)]
        with pytest.raises(ValueError, match="empty"):
            whole([])
        with pytest.raises(ValueError, match="save_slice_info"):
            whole(parts)
        for i, part in enumerate(parts):
            part._set_save_slice_info(tf.Variable.SaveSliceInfo("whole", [2], [i], [1]))
        with pytest.raises(ValueError, match="full shapes must match"):
            whole(parts, shape=(3,))
        with pytest.raises(ValueError, match="must be positive"):
            whole(parts[:1], partitions=(0,))
        assert list(whole(parts[::-1])) == parts
