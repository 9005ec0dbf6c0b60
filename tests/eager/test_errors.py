"""Mistakes in eager code are what programs of TensorFlow's time catch, with texts that help."""

import pathlib

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.test_modes import new_eager_mode
from tests.oracle import comparison
from tests.oracle.run_program import error_of

HERE = pathlib.Path(__file__).parent
PROGRAMS = ("eager_errors", "eager_errors_library")


def errors_of_tensorflow():
    lines = (HERE / "errors_of_tensorflow.txt").read_text().splitlines()
    return dict(line.split(": ") for line in lines if not line.startswith("#"))


def test_mistakes_raise_what_tensorflow_raises(tmp_path):
    found = {}
    for name in PROGRAMS:
        text = (comparison.PROGRAMS / f"{name}.py").read_text()
        known = {"tf": tf, "np": np, "tmp_dir": str(tmp_path), "error_of": error_of}
        with new_eager_mode():
            exec(compile(text, name, "exec"), {**known, "result": found})
    expected = errors_of_tensorflow()
    assert found.keys() == expected.keys()
    assert len(expected) > 200
    others = {
        name: (found[name], error)
        for name, error in expected.items()
        if error not in found[name].removeprefix("raises ").split(" < ")
    }
    assert others == {}


def caught(function):
    with pytest.raises(Exception) as e:
        function()
    return e.value


@pytest.mark.parametrize(
    ("make", "kinds", "code"),
    [
        (lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])), ("InvalidArgumentError",), 3),
        (lambda: tf.gather([1.0], [5]), ("InvalidArgumentError",), 3),
        (lambda: tf.constant(True) - tf.constant(False), ("NotFoundError", "TypeError"), 5),
        (lambda: tf.cast("a", tf.float32), ("UnimplementedError", "TypeError"), 12),
        (lambda: tf.read_file("/nowhere/file"), ("NotFoundError",), 5),
        (lambda: tf.write_file("/proc/nowhere/file", "a"), ("NotFoundError",), 5),
        (
            lambda: tf.tensordot(tf.zeros([2, 3]), tf.zeros([2, 3]), 1),
            ("InvalidArgumentError", "ValueError"),
            3,
        ),
    ],
)
def test_errors_have_tensorflows_class_and_code_and_no_node(make, kinds, code):
    error = caught(make)
    names = [kind.__name__ for kind in type(error).__mro__]
    assert set(kinds) <= set(names)
    assert error.error_code == code
    assert error.op is None
    assert error.node_def is None
    assert error.message == str(error)


def test_the_text_says_which_inputs_and_where():
    error = caught(lambda: tf.gather(tf.constant([1.0, 2.0]), [5]))
    lines = str(error).splitlines()
    assert "indices[0] = 5 is not in [0, 2)" in lines[0]
    assert lines[-4:-1] == ["  params: float32[2]", "  indices: int32[1]", "  axis: int32[]"]
    assert "test_errors.py" in lines[-1]
    assert "Placeholder" not in str(error)
    row = caught(lambda: tf.nn.embedding_lookup(tf.Variable([[1.0]]), [3]))
    assert "  resource: float32[1, 1]\n" in str(row)


def test_python_functions_raise_what_they_raise():
    def fails():
        raise KeyError("mine")

    assert isinstance(caught(lambda: tf.py_func(fails, [], tf.float32)), KeyError)
    value = tf.py_func(lambda x: np.float64(2 * x), [tf.constant(1.5)], tf.float32)
    assert value.dtype == tf.float64
    assert value.numpy() == 3.0
    both = tf.numpy_function(lambda x: (x, x + 1), [np.int64(3)], [tf.int64, tf.int64])
    assert [part.numpy() for part in both] == [3, 4]
    assert tf.py_func(lambda: None, [], []) is None


def test_a_graph_raises_what_it_raised():
    with tf.Graph().as_default():
        error = caught(lambda: tf.constant(True) - tf.constant(False))
        assert isinstance(error, TypeError)
        assert not isinstance(error, tf.errors.NotFoundError)
        called = tf.py_func(lambda: 1 / 0, [], tf.float32, name="divides")
        with tf.Session() as sess:
            run = caught(lambda: sess.run(called))
        assert type(run) is tf.errors.UnknownError
        assert run.op.name == "divides"
        read = tf.read_file("/nowhere/file")
        with tf.Session() as sess:
            error = caught(lambda: sess.run(read))
        assert type(error) is tf.errors.NotFoundError
        assert error.op is read.op


def test_a_missing_file_of_weights_is_both_pythons_error_and_tensorflows():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    error = caught(lambda: model.load_weights("/nowhere/weights"))
    assert isinstance(error, tf.errors.NotFoundError)
    assert isinstance(error, FileNotFoundError)
    assert str(error) == "There is no file /nowhere/weights."


def test_tapes_say_what_they_cannot_do():
    with pytest.raises(RuntimeError, match="not recording"), tf.GradientTape().stop_recording():
        pass
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="must have rank at least 2"):
        tape.batch_jacobian(y, x)
