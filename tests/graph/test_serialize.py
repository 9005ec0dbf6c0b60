"""GraphDef both ways: what is written, what is read, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_a_graph_comes_back_as_it_was() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
    with tf.device("/cpu:0"), tf.name_scope("layer"):
        y = tf.nn.relu(tf.matmul(x, w, transpose_b=False), name="y")
    with tf.control_dependencies([y]):
        tf.identity(y, name="last")
    first = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as g:
        tf.import_graph_def(first, name="")
        assert g.as_graph_def() == first
        assert g.get_tensor_by_name("layer/y:0").shape.as_list() == [None, 2]
        with tf.Session() as s:
            value = s.run("last:0", {"x:0": [[1, 1, 1]]})
    np.testing.assert_array_equal(value, [[6, 9]])


def test_bytes_and_text(tmp_path) -> None:
    tf.constant("text", name="c")
    tf.constant([True, False], name="b")
    path = tf.train.write_graph(tf.get_default_graph(), str(tmp_path), "g.pb", as_text=False)
    read = tf.GraphDef()
    with open(path, "rb") as file:
        read.ParseFromString(file.read())
    text_path = tf.train.write_graph(read, str(tmp_path), "g.pbtxt")
    from google.protobuf import text_format

    with open(text_path) as file:
        again = text_format.Parse(file.read(), tf.GraphDef())
    with tf.Graph().as_default():
        c, b = tf.import_graph_def(again, return_elements=["c:0", "b:0"])
        assert c.name == "import/c:0"
        with tf.Session() as s:
            assert s.run(c) == b"text"
            assert s.run(b).tolist() == [True, False]


def test_inputs_can_be_mapped() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.multiply(x, 2.0, name="y")
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(definition, {"x:0": tf.constant(21.0)}, ["y:0"], name="again")
        assert y.name == "again/y:0"
        with tf.Session() as s:
            assert s.run(y) == 42
        for key in ("nothing:0", "x:1"):
            with pytest.raises(ValueError, match=rf"not found in graph_def: \[{key}\]"):
                tf.import_graph_def(definition, {key: tf.constant(1.0)})
        with pytest.raises(ValueError, match="'z:0' not found"):
            tf.import_graph_def(definition, return_elements=["z:0"])


def test_an_output_that_nothing_reads_can_be_mapped() -> None:
    """A stand-in for a network, two placeholders without an edge: what is mapped comes back, too."""
    tf.placeholder(tf.float32, [2], name="pixels")
    tf.placeholder(tf.float32, [3], name="logits")
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        given = tf.ones([2])
        (logits,) = tf.import_graph_def(definition, {"pixels:0": given}, ["logits:0"], name="")
        assert logits.name == "logits:0" and logits.shape == [3]
        (pixels,) = tf.import_graph_def(definition, {"pixels": given}, ["pixels:0"], name="again")
        assert pixels is given


def test_loops_and_conditionals_travel() -> None:
    n = tf.placeholder(tf.int32, [], name="n")
    total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [0, 0])[1]
    tf.cond(n > 3, lambda: total * 10, lambda: total, name="choice")
    tf.identity(tf.get_default_graph().get_tensor_by_name("choice/Merge:0"), name="out")
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        (out,) = tf.import_graph_def(definition, return_elements=["out:0"], name="")
        with tf.Session() as s:
            assert s.run(out, {"n:0": 3}) == 3
            assert s.run(out, {"n:0": 5}) == 100


def test_variables_travel() -> None:
    v = tf.Variable(2.0, name="v")
    v.assign_add(1.0, name="add")
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        with tf.Session() as s:
            s.run("v/Assign")
            s.run("add")
            assert s.run("v:0") == 3


def damaged(change):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.add(x, 1.0, name="y")
    definition = tf.get_default_graph().as_graph_def()
    nodes = {n.name: n for n in definition.node}
    change(definition, nodes)
    return definition


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d, n: setattr(n["y"], "op", "Adds"), "not registered 'Adds'.*Did you mean 'Add'"),
        (lambda d, n: n["y"].input.__setitem__(0, "z"), "'z', which is not in the graph_def"),
        (lambda d, n: n["y"].input.__setitem__(0, "y"), "cycle"),
        (lambda d, n: n["y"].input.append("x"), "takes 2 inputs, got 3"),
        (lambda d, n: n["y"].input.__setitem__(0, "x:3"), "reads output 3 of 'x'"),
        (lambda d, n: n["y"].input.__setitem__(0, "x:-1"), "'x:-1' names no tensor"),
        (lambda d, n: n["y"].input.__setitem__(0, ":"), "':' names no tensor"),
        (lambda d, n: n["y"].input.__delitem__(0), "node 'y': Add takes 2 inputs, got 1"),
        (lambda d, n: setattr(n["x"], "name", "y"), "two nodes are called 'y'"),
        (lambda d, n: n["x"].attr.__delitem__("dtype"), "is missing the attribute 'dtype'"),
        (lambda d, n: setattr(n["x"].attr["dtype"], "type", 3), "int32.*expected float32|float32"),
        (
            lambda d, n: setattr(n["y/y"].attr["value"].tensor, "tensor_content", b"abc"),
            "damaged.*4 bytes",
        ),
    ],
)
def test_damaged_graphs_are_refused(change, words) -> None:
    definition = damaged(change)
    with tf.Graph().as_default() as g:
        with pytest.raises((ValueError, TypeError, tf.errors.OpError), match=f"(?s){words}"):
            tf.import_graph_def(definition, name="")
        assert g.version == 0


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="GraphDef"):
        tf.import_graph_def(b"bytes")


def test_a_truncated_file_is_refused() -> None:
    tf.constant(np.zeros(100), name="c")
    data = tf.get_default_graph().as_graph_def().SerializeToString()
    from google.protobuf.message import DecodeError

    with pytest.raises(DecodeError):
        tf.GraphDef().ParseFromString(data[: len(data) // 2])


def test_tensor_protos() -> None:
    for value in (3, 2.5, "text", [[1, 2], [3, 4]], [True], np.float16(1.5), 2 + 3j, []):
        array = tf.make_ndarray(tf.make_tensor_proto(value))
        expected = np.asarray(value)
        assert array.shape == expected.shape
        if isinstance(value, str):
            assert array[()] == b"text"
        else:
            np.testing.assert_allclose(array, expected)
    filled = tf.make_tensor_proto(7.0, shape=[2, 2])
    assert tf.make_ndarray(filled).tolist() == [[7, 7], [7, 7]]


def test_graphs_for_later_versions_are_refused():
    graph_def = tf.Graph().as_graph_def()
    graph_def.versions.min_consumer = 135
    with pytest.raises(ValueError, match="min consumer version 135 above current version 134"):
        tf.import_graph_def(graph_def)
    graph_def.versions.min_consumer = 134
    graph_def.versions.bad_consumers.append(134)
    with pytest.raises(ValueError, match="disallows consumer version 134"):
        tf.import_graph_def(graph_def)


def test_nodes_written_in_a_row_are_those_written_one_by_one() -> None:
    """Plain nodes, and others between them; names longer than a length of one byte, and not ASCII's."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.tanh(x, name="long" * 50) * x
        with tf.device("/cpu:0"):
            y = y + tf.constant(1.0)
        with tf.control_dependencies([y]):
            z = tf.identity(tf.exp(y))
        a, b = tf.split(tf.stack([z, z], 1), 2, 1)
        tf.cast(b, tf.float64) + tf.cast(a, tf.float64)
        with graph.gradient_override_map({"Tanh": "Relu"}):
            tf.tanh(tf.sinh(b))
    one_by_one = [op.node_def for op in graph.get_operations()]
    assert list(graph.as_graph_def().node) == one_by_one
    assert list(graph.as_graph_def(from_version=4).node) == one_by_one[4:]
    with_shapes = graph.as_graph_def(add_shapes=True)
    assert all("_output_shapes" in node.attr for node in with_shapes.node)


def test_attributes_later_than_tensorflow_1_are_left_out_at_their_defaults() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.ones([1, 4, 4, 2])
        tf.nn.max_pool(x, 2, 2, "SAME", name="pool")
        tf.nn.depthwise_conv2d(x, tf.ones([2, 2, 2, 1]), [1, 1, 1, 1], "SAME", name="depthwise")
        tf.layers.batch_normalization(x, training=True)
        tf.raw_ops.ConcatOffset(concat_dim=0, shape=[[2, 3], [2, 3]])
        tf.data.Dataset.range(3).make_one_shot_iterator()
        tf.spectral.irfft(tf.spectral.rfft(tf.ones([8])))
        tf.sparse_segment_sum(x, [0], [0])
        tf.quantize_v2([1.0], 0.0, 1.0, tf.quint8)
        exact = tf.spectral.rfft(tf.ones([8], tf.float64), name="exact")
        long = tf.sparse_segment_sum(x, [0], tf.constant([0], tf.int64), name="long")
        nodes = graph.as_graph_def().node
    found = {key for node in nodes for key in node.attr if node.name not in ("exact", "long")}
    assert not found & {"explicit_paddings", "exponential_avg_factor", "shape_type", "Treal"}
    assert not found & {"Tcomplex", "Tsegmentids", "sparse_gradient", "narrow_range"}
    assert not found & {"ensure_minimum_range", "Targuments"}
    by_name = {node.name: node.attr for node in nodes}
    assert {"Treal", "Tcomplex"} <= set(by_name[exact.op.name])
    assert "Tsegmentids" in by_name[long.op.name]
    with tf.Graph().as_default() as again:
        tf.import_graph_def(graph.as_graph_def(), name="")
        assert again.as_graph_def() == graph.as_graph_def()
        fused = next(op for op in again.get_operations() if op.type == "FusedBatchNormV3")
        assert fused.get_attr("exponential_avg_factor") == 1.0


def test_the_shape_of_a_handle_is_left_open() -> None:
    with tf.Graph().as_default() as graph:
        tf.TensorArray(tf.float32, 3, name="array")
        node = next(n for n in graph.as_graph_def(add_shapes=True).node if n.op == "TensorArrayV3")
    handle, flow = node.attr["_output_shapes"].list.shape
    assert handle.unknown_rank and not flow.unknown_rank


@pytest.mark.parametrize(
    ("value", "dtype", "field", "listed"),
    [
        (10, None, "int_val", [10]),
        ([7], tf.int64, "int64_val", [7]),
        (-3, tf.int8, "int_val", [-3]),
        (1.5, None, "float_val", [1.5]),
        (2, tf.uint64, "uint64_val", [2]),
        ([True, False], None, "bool_val", [True, False]),
        ([1 + 2j, 3], tf.complex64, "scomplex_val", [1.0, 2.0, 3.0, 0.0]),
        ([1.0, 2.0], tf.float16, "half_val", [0x3C00, 0x4000]),
    ],
)
def test_values_that_a_constant_lists(value: Any, dtype: Any, field: str, listed: Any) -> None:
    with tf.Graph().as_default():
        constant = tf.constant(value, dtype)
    proto = constant.op.node_def.attr["value"].tensor
    assert list(getattr(proto, field)) == listed
    assert not proto.tensor_content
    np.testing.assert_array_equal(tf.make_ndarray(proto), np.asarray(value))


def test_several_numbers_are_bytes() -> None:
    proto = tf.make_tensor_proto([1, 2])
    assert proto.tensor_content == b"\1\0\0\0\2\0\0\0"
    assert not proto.int_val
    empty = tf.make_tensor_proto(np.zeros([0, 2], np.float32))
    assert not empty.tensor_content
    assert tf.make_ndarray(empty).shape == (0, 2)
