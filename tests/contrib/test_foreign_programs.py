"""What public programs of TensorFlow 1's time stumbled on, one test each."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

slim = tf.contrib.slim


pytestmark = pytest.mark.usefixtures("graph")


def test_a_state_is_fed_by_its_tuple_nested_too() -> None:
    zeros = tf.zeros([2, 3])
    first = tf.nn.rnn_cell.LSTMStateTuple(zeros + 1.0, zeros + 2.0)
    second = tf.nn.rnn_cell.LSTMStateTuple(zeros + 3.0, zeros + 4.0)
    state = (first, second)
    with tf.Session() as sess:
        values = sess.run(state)
        fed = sess.run(first.c * 10.0, {first: values[1]})
        assert fed.tolist() == np.full([2, 3], 30.0).tolist()
        for _ in range(3):  # the first runs are planned, later ones compiled
            fed = sess.run([first.h, second.h], {state: (values[1], values[0])})
        assert [float(v[0, 0]) for v in fed] == [4.0, 2.0]
        fed = sess.run(first.h, {first: np.zeros([2, 2, 3], np.float32)})
        assert not fed.any()
        with pytest.raises(ValueError, match="stands for 2 tensors, got 3 values"):
            sess.run(first.h, {first: [0, 0, 0]})


def test_minimize_takes_the_values_of_a_dict() -> None:
    weights = {"a": tf.Variable(1.0), "b": tf.Variable(2.0)}
    loss = weights["a"] * weights["a"] + weights["b"]
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=weights.values())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        assert sess.run(list(weights.values())) == [0.0, 1.5]


def test_gray_pictures_of_a_placeholder_without_a_shape() -> None:
    picture = np.random.RandomState(0).randint(0, 255, [4, 5, 3]).astype(np.uint8)
    x = tf.placeholder(tf.uint8)
    with tf.Session() as sess:
        got = sess.run(tf.image.rgb_to_grayscale(x), {x: picture})
        assert got.shape == (4, 5, 1) and got.dtype == np.uint8
        wanted = sess.run(tf.image.rgb_to_grayscale(tf.constant(picture)))
    assert abs(got.astype(int) - wanted.astype(int)).max() <= 1


def test_a_saver_tells_its_variables() -> None:
    v = tf.Variable(1.0)
    assert tf.train.Saver()._var_list == [v]
    assert tf.train.Saver([v])._var_list == [v]


def test_a_constant_initializer_takes_no_shape() -> None:
    for value in (False, 0.5):
        with pytest.raises(ValueError, match="If initializer is a constant, do not specify shape"):
            tf.get_variable("v", shape=[2, 3], initializer=value)


def test_bias_add_and_slim_layers() -> None:
    x = tf.constant([[-3.0, 1.0]])
    one = tf.constant_initializer(1.0)
    y = slim.layers.bias_add(x, activation_fn=tf.nn.relu, initializer=one, scope="b")
    assert [v.name for v in slim.get_model_variables()] == ["b/biases:0"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y).tolist() == [[0.0, 2.0]]
    assert slim.bias_add is tf.contrib.layers.bias_add is slim.layers.bias_add
    with pytest.raises(ValueError, match="`C` dimension must be known"):
        slim.bias_add(tf.placeholder(tf.float32, [2, None]))


def test_the_analyzer_counts_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    tf.get_variable("w", [3, 4])
    tf.get_variable("n", [5], tf.int64, initializer=tf.zeros_initializer())
    counts = slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True)
    assert counts == (17, 88)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Variables: name (type shape) [size]"
    assert lines[3:] == [
        "w:0 (float32_ref 3x4) [12, bytes: 48]",
        "n:0 (int64_ref 5) [5, bytes: 40]",
        "Total size of variables: 17",
        "Total bytes of variables: 88",
    ]
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="two")
        tf.placeholder(tf.float32, [None, 3], name="open")
        assert slim.model_analyzer.analyze_ops(graph, print_info=True) == 2
    assert "two -> (Const 2) [2]" in capsys.readouterr().out


def test_mnist_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataflow_datasets import mnist

    monkeypatch.setattr(mnist, "read_data_sets", lambda folder, announced: f"read {folder}")
    assert tf.contrib.learn.datasets.load_dataset("mnist") == "read MNIST-data"
    assert tf.contrib.learn.datasets.mnist.DataSet is mnist.DataSet


def test_linear_as_cells_of_programs_import_it() -> None:
    from dataflow.contrib.rnn.python.ops.core_rnn_cell import _linear
    from dataflow.python.ops.rnn_cell_impl import _Linear

    x, h = tf.ones([2, 3]), tf.ones([2, 4])
    with tf.variable_scope("cell"):
        y = _linear([x, h], 5, True, kernel_initializer=tf.ones_initializer())
    assert [v.name for v in tf.global_variables()] == ["cell/kernel:0", "cell/bias:0"]
    with tf.variable_scope("other"):
        once = _Linear(x, 1, False)
        assert once(x).shape.as_list() == once(x).shape.as_list() == [2, 1]
    assert len(tf.global_variables()) == 3
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y).tolist() == [[7.0] * 5] * 2
    with pytest.raises(ValueError, match="linear is expecting 2D"):
        _linear(tf.ones([2]), 1, True)


def test_programs_keep_values_on_tensors_and_operations() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    x.scope, x.op.note = "input", 3
    layer = tf.layers.dense(x, 2)
    layer.W = layer.op.inputs[0]
    assert (x.scope, x.op.note, layer.W) == ("input", 3, layer.op.inputs[0])
    assert not hasattr(x, "aliases") and not hasattr(layer, "scope")
    with pytest.raises(AttributeError, match="no attribute 'scope'"):
        layer.scope


def test_a_variable_is_true_and_a_resource_variable_is_asked() -> None:
    assert tf.Variable(0.0) and tf.get_variable("v", [2])
    with pytest.raises(TypeError, match="truth value"):
        bool(tf.get_variable("r", [2], use_resource=True))


def test_grids_of_ranges_whose_lengths_are_fed() -> None:
    n, m = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    grids = tf.meshgrid(tf.range(n), tf.range(m))
    with tf.Session() as sess:
        for sizes in ((3, 2), (1, 4), (0, 2)):
            found = sess.run(grids, dict(zip((n, m), sizes, strict=True)))
            for got, expected in zip(found, np.meshgrid(*map(np.arange, sizes)), strict=True):
                np.testing.assert_array_equal(got, expected)
    assert tf.meshgrid(tf.range(0), tf.range(2))[0].shape.as_list() == [2, 0]


def test_a_stacked_tensor_is_itself() -> None:
    fed = tf.placeholder(tf.float32)
    assert tf.stack(fed) is fed and tf.stack(tf.constant([1, 2])).shape.as_list() == [2]


def test_sums_of_constants_are_static_sizes() -> None:
    assert tf.zeros([tf.reduce_sum([2, 3]), 4]).shape.as_list() == [5, 4]
    fed = tf.placeholder(tf.int32, [2])
    assert tf.zeros([tf.reduce_sum(fed), 4]).shape.as_list() == [None, 4]


def test_lists_of_arrays_of_different_shapes_are_compared() -> None:
    case = tf.test.TestCase()
    case.assertAllClose([np.ones(2), np.ones((2, 2))], [np.ones(2), np.ones((2, 2))])
    with pytest.raises(AssertionError):
        case.assertAllClose([np.ones(2), np.ones((2, 2))], [np.ones(2), np.zeros((2, 2))])


def test_softplus_scales_of_the_laplace_distribution() -> None:
    ds = tf.contrib.distributions
    with tf.Session() as sess:
        scale, log_prob = sess.run(
            [
                ds.LaplaceWithSoftplusScale(0.5, -1.0).scale,
                ds.LaplaceWithSoftplusScale(0.5, -1.0).log_prob(1.0),
            ]
        )
    expected = np.log1p(np.exp(-1.0))
    assert scale == pytest.approx(expected, rel=1e-6)
    assert log_prob == pytest.approx(-0.5 / expected - np.log(2 * expected), rel=1e-5)


def test_operators_that_classes_of_ones_own_copy_are_all_there() -> None:
    names = tf.Tensor.OVERLOADABLE_OPERATORS
    assert {"__add__", "__rmatmul__", "__getitem__"} <= names
    assert all(callable(getattr(tf.Tensor, name)) for name in names)
