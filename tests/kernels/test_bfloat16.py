"""bfloat16: float32 inside each op, rounded at its end; through sessions, clusters and checkpoints."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dataflow as tf
from dataflow import dtypes
from dataflow.core.protobuf import rewriter_config_pb2
from dataflow.formats.safetensors_store import list_arrays, read_arrays
from dataflow.graph.tensor_proto import array_to_proto, proto_to_array
from tests.cluster.conftest import LocalCluster, free_addresses

B = ml_dtypes.bfloat16
RNG = np.random.RandomState(0)
X, Y = RNG.randn(8, 6).astype(B), RNG.randn(6, 5).astype(B)


pytestmark = pytest.mark.usefixtures("graph")


def run(fetches: Any, times: int = 1) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(times):
            result = session.run(fetches)
    return result


def equal(got: Any, wanted: Any) -> None:
    assert got.dtype == B
    np.testing.assert_array_equal(got.astype(np.float32), np.asarray(wanted, np.float32))


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        (1.0 + 2**-8, 1.0),  # a tie goes to the even one, below
        (1.0 + 3 * 2**-8, 1.0 + 2**-6),  # and above
        (1.0 + 2**-8 + 2**-20, 1.0 + 2**-7),
        (-(1.0 + 2**-8), -1.0),
        (3.4028e38, float("inf")),
        (2**-133, 2**-133),  # the smallest
        (float("nan"), float("nan")),
    ],
)
def test_rounding(number: float, rounded: float) -> None:
    fed = tf.placeholder(tf.float32, [])
    for cast in (tf.cast(fed, tf.bfloat16), tf.cast(tf.cast(fed, tf.float64), tf.bfloat16)):
        with tf.Session() as session:
            equal(session.run(tf.identity(cast), {fed: number}), rounded)
    equal(run(tf.constant(number, tf.bfloat16)), rounded)


OPS = {
    "Exp": (tf.exp, np.exp),
    "Tanh": (tf.tanh, np.tanh),
    "MatMul": (lambda x: tf.matmul(x, tf.constant(Y)), lambda x: x @ Y.astype(np.float32)),
    "Sum": (lambda x: tf.reduce_sum(x, 1), lambda x: x.sum(1)),
    "Mean": (tf.reduce_mean, np.mean),
    "Mul": (lambda x: x * tf.constant(1.7, tf.bfloat16), lambda x: x * np.float32(B(1.7))),
    "Softmax": (
        tf.nn.softmax,
        lambda x: (
            np.exp(x - x.max(1, keepdims=True))
            / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
    ),
    "AddN": (lambda x: tf.add_n([x, x, x]), lambda x: x + x + x),
    "TopKV2": (lambda x: tf.nn.top_k(x, 2)[0], lambda x: -np.sort(-x, 1)[:, :2]),
    "Reshape": (lambda x: tf.reshape(x, [6, 8]), lambda x: x.reshape(6, 8)),
    "Split": (lambda x: tf.split(x, 2)[1], lambda x: x[4:]),
    "GatherV2": (lambda x: tf.gather(x, [5, 0]), lambda x: x[[5, 0]]),
}


@pytest.mark.parametrize("name", OPS)
def test_one_op_is_the_float32_op_rounded(name: str) -> None:
    ours, numpys = OPS[name]
    fed = tf.placeholder(tf.bfloat16, [8, 6])
    with tf.Session() as session:
        equal(session.run(ours(fed), {fed: X}), np.asarray(numpys(X.astype(np.float32))).astype(B))


def test_what_looks_at_bytes_gets_them() -> None:
    assert run(tf.bitcast(tf.constant(X), tf.uint16)).tolist() == X.view(np.uint16).tolist()
    equal(run(tf.bitcast(tf.constant(X.view(np.uint16)), tf.bfloat16)), X)
    equal(run(tf.decode_raw(tf.constant(X[0].tobytes()), tf.bfloat16)), X[0])
    text = tf.io.serialize_tensor(tf.constant(X))
    equal(run(tf.io.parse_tensor(text, tf.bfloat16)), X)


def test_uniform_numbers_stay_below_one() -> None:
    for drawn in (
        tf.random_uniform([20_000], dtype=tf.bfloat16, seed=1),
        tf.random.stateless_uniform([20_000], [1, 2], dtype=tf.bfloat16),
    ):
        numbers = run(drawn)
        assert numbers.dtype == B
        assert 0 <= numbers.min() < 0.01 and 0.99 < numbers.max() < 1
    assert run(tf.random_normal([3], dtype=tf.bfloat16)).dtype == B


def test_python_numbers_lists_and_arrays_of_other_types_are_fed() -> None:
    fed = tf.placeholder(tf.bfloat16, [None])
    with tf.Session() as session:
        equal(session.run(fed + 1, {fed: [0.1, 2]}), (np.array([0.1, 2]).astype(B) + B(1)))
        equal(session.run(fed * 2, {fed: np.array([1.5], np.float64)}), [3.0])
        equal(session.run(fed[0], {fed: X[0]}), X[0, 0])


def dense_network(dtype: Any) -> tuple[Any, list[Any]]:
    """Two layers computed in ``dtype``, whose weights are kept in float32."""
    shapes = {"w1": [6, 16], "b1": [16], "w2": [16, 1]}
    rng = np.random.RandomState(1)
    master = [
        tf.get_variable(name, initializer=(rng.randn(*shape) * 0.3).astype(np.float32))
        for name, shape in shapes.items()
    ]
    w1, b1, w2 = (tf.cast(variable, dtype) for variable in master)
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(tf.cast(tf.constant(X), dtype), w1), b1))
    wanted = X.astype(np.float32).sum(1, keepdims=True)
    error = tf.cast(tf.matmul(hidden, w2), tf.float32) - wanted
    return tf.reduce_mean(tf.square(error)), master


def test_gradients_are_those_of_float32_to_rounding() -> None:
    found = []
    for dtype in (tf.bfloat16, tf.float32):
        with tf.Graph().as_default():
            loss, master = dense_network(dtype)
            gradients = tf.gradients(loss, master)
            assert [g.dtype for g in gradients] == [tf.float32] * 3
            found.append(run(gradients))
    for rough, exact in zip(*found, strict=True):
        assert np.abs(rough - exact).max() < 0.03 * np.abs(exact).max()
        assert not np.array_equal(rough, exact)


def test_a_dense_network_trains_in_bfloat16_with_float32_weights() -> None:
    loss, master = dense_network(tf.bfloat16)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(100):
            session.run(step)
        assert session.run(loss) < first / 20
        assert {v.dtype for v in session.run(master)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Momentum", "Adagrad", "RMSProp", "Ftrl"])
def test_variables_of_bfloat16_are_trained(optimizer: str) -> None:
    w = tf.get_variable("w", [6, 5], tf.bfloat16, initializer=tf.constant_initializer(0.5))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(X), w)))
    more = (0.5,) if optimizer == "Momentum" else ()
    step = getattr(tf.train, f"{optimizer}Optimizer")(0.05, *more).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(30):
            session.run(step)
        assert session.run(loss) < first / 2
        assert session.run(w).dtype == B
        rows = tf.scatter_add(w, [1], tf.ones([1, 5], tf.bfloat16))
        before = session.run(w)
        equal(session.run(rows)[1], before[1] + B(1))


def test_rewrites_keep_every_rounding() -> None:
    x = tf.placeholder(tf.bfloat16, [8, 6])
    y = tf.exp(x * 0.3 + x / 7.0) - tf.sigmoid(x) * tf.square(x - 0.5)
    z = tf.reduce_sum(y * y, 1) + tf.gradients(tf.nn.relu(y), x)[0][:, 0]
    found = []
    for is_off in (False, True):
        options = rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=is_off)
        config = tf.ConfigProto(graph_options=tf.GraphOptions(rewrite_options=options))
        with tf.Session(config=config) as session:
            found += [session.run([y, z], {x: X}) for _ in range(50)]
    for values in found[1:]:
        for value, first in zip(values, found[0], strict=True):
            equal(value, first)


def test_it_travels_between_tasks() -> None:
    addresses = free_addresses(2)
    spec = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
    cluster = LocalCluster(spec)
    try:
        large = np.ones((300, 300), B)
        with tf.device("/job:ps/task:0"):
            w = tf.get_variable("w", initializer=tf.constant(large))
            one = tf.get_variable("one", initializer=tf.constant(1.5, tf.bfloat16))
        with tf.device("/job:worker/task:0"):
            gradient = tf.multiply(w, one)
        with tf.device("/job:ps/task:0"):
            step = tf.assign_sub(w, gradient)
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(tf.global_variables_initializer())
            for expected in (-0.5, 0.25, -0.125, 0.0625):
                equal(session.run(step), large * B(expected))
            fed = tf.placeholder(tf.bfloat16, [2])
            with tf.device("/job:ps/task:0"):
                doubled = fed * 2
            equal(session.run(doubled, {fed: [1, 2]}), [2, 4])
    finally:
        cluster.stop()


def test_checkpoints(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=tf.constant(X))
    scalar = tf.get_variable("scalar", initializer=tf.constant(0.3, tf.bfloat16))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run([v.assign(tf.zeros_like(v)), scalar.assign(tf.zeros_like(scalar))])
        saver.restore(session, path)
        equal(session.run(v), X)
        equal(session.run(scalar), B(0.3))
    (file,) = tmp_path.glob("*.safetensors")
    assert list_arrays(file)["v"].dtype == "bfloat16"
    assert read_arrays(file)["v"].tolist() == X.astype(np.float32).tolist()
    safetensors_numpy = pytest.importorskip("safetensors.numpy")
    np.testing.assert_array_equal(
        safetensors_numpy.load_file(file)["v"].view(np.uint16), X.view(np.uint16)
    )


def test_a_checkpoint_of_tensorflow_is_restored() -> None:
    prefix = Path(__file__).parents[1] / "formats" / "tensorflow_files" / "model.ckpt-12"
    v = tf.get_variable("bfloat16", [3], tf.bfloat16)
    with tf.Session() as session:
        tf.train.Saver([v]).restore(session, str(prefix))
        equal(session.run(v), [1.0, -2.5, 3.140625])


def test_protocol_buffers() -> None:
    proto = array_to_proto(X)
    assert proto.dtype == 14
    assert len(proto.half_val) == X.size  # listed, as TensorFlow 1.15 does
    equal(proto_to_array(proto), X)
    one_by_one = type(proto)(dtype=14, half_val=[0x3FC0, 0xC020])
    one_by_one.tensor_shape.dim.add(size=3)
    equal(proto_to_array(one_by_one), [1.5, -2.5, -2.5])
    tf.constant(X, name="x")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        (x,) = tf.import_graph_def(graph_def, return_elements=["x:0"], name="")
        equal(run(x), X)


def test_printing_and_limits() -> None:
    assert str(run(tf.constant([1.5, 2.7], tf.bfloat16))) == "[1.5 2.70312]"
    assert float(tf.bfloat16.max) == 3.3895313892515355e38 == -float(tf.bfloat16.min)
    assert tf.bfloat16.size == 2 and tf.bfloat16.is_floating
    assert tf.bfloat16.as_numpy_dtype is B
    for given in (B, np.dtype(B), "bfloat16", 14, tf.bfloat16):
        assert tf.as_dtype(given) is tf.bfloat16
    assert tf.constant(X).dtype is tf.bfloat16


PROGRAM = textwrap.dedent(
    """
    import sys
    import dataflow as tf
    with tf.Session() as session:
        session.run(tf.nn.relu(tf.constant([1.0])) + tf.cast(tf.constant([1]), tf.float32))
    print("ml_dtypes" in sys.modules)
    sys.modules["ml_dtypes"] = None  # as if it were not installed
    try:
        tf.constant(1.5, tf.bfloat16)
    except ImportError as error:
        print(error)
    print(tf.bfloat16.size, tf.as_dtype("bfloat16").is_floating, tf.constant(2.0).dtype.name)
    """
)


def test_the_package_is_loaded_when_it_is_used_and_named_when_it_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    loaded, error, rest = done.stdout.splitlines()
    assert loaded == "False"
    assert "ml_dtypes" in error and "pip install 'dataflow-learn[bfloat16]'" in error
    assert rest == "2 True float32"
    assert dtypes.bfloat16.numpy == np.dtype(B)
