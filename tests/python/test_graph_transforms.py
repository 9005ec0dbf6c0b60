"""`tensorflow.tools.graph_transforms.TransformGraph`: what each transform leaves, and that values stay."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.tools.graph_transforms import TransformGraph

PIXELS = np.random.RandomState(0).rand(1, 5, 5, 2).astype(np.float32)


@pytest.fixture
def network() -> Any:
    """A GraphDef: a convolution, its scale, a normalization, and nodes that inference does not need."""
    numbers = np.random.RandomState(1)

    def random(*sizes: int) -> np.ndarray:
        return numbers.rand(*sizes).astype(np.float32)

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 5, 5, 2], name="x")
        kernel = tf.identity(tf.constant(random(3, 3, 2, 3), name="w"), name="w/read")
        conv = tf.nn.conv2d(x, tf.constant(random(3, 3, 2, 3)), [1, 1, 1, 1], "SAME", name="c")
        scaled = tf.multiply(conv, tf.constant(random(3)), name="scaled")
        with tf.device("/cpu:0"):
            checked = tf.check_numerics(tf.identity(scaled), "no number", name="checked")
        again = tf.nn.conv2d(checked, tf.constant(random(1, 1, 3, 3)), [1, 1, 1, 1], "SAME")
        normal, *_ = tf.nn.fused_batch_norm(
            again, random(3), random(3), random(3), random(3), is_training=False, name="bn"
        )
        two = tf.multiply(tf.constant(1.0, name="a"), tf.constant(2.0, name="b"), name="two")
        with tf.control_dependencies([x]):
            offset = tf.constant([1.0, 2.0, 3.0], name="offset")
        tf.add(normal * two, offset, name="y")
        tf.add(tf.tanh(normal), tf.tanh(normal), name="twice")
        tf.reduce_sum(kernel, name="unused")
    return graph.as_graph_def()


def value(graph_def: Any, name: str) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(f"{name}:0", {"x:0": PIXELS})


def ops(graph_def: Any) -> dict[str, str]:
    return {node.name: node.op for node in graph_def.node}


@pytest.mark.parametrize(
    ("transform", "gone", "left"),
    [
        ("strip_unused_nodes", "Tanh Sum", "Identity CheckNumerics Mul"),
        ("remove_nodes(op=Identity, op=CheckNumerics)", "Identity CheckNumerics", "Tanh Sum Mul"),
        ("fold_constants(ignore_errors=true)", "Tanh", "Identity Const"),
        ("fold_batch_norms", "", "Mul Tanh"),
        ("fold_old_batch_norms", "FusedBatchNormV3", "BiasAdd"),
        ("merge_duplicate_nodes", "", "Tanh"),
        ("remove_device", "", "Tanh"),
        ("remove_control_dependencies", "", "Tanh"),
        ("sort_by_execution_order", "", "Tanh"),
        ("remove_attribute(attribute_name=_class)", "", "Tanh"),
    ],
)
def test_each_leaves_the_output_as_it_was(
    network: Any, transform: str, gone: str, left: str
) -> None:
    before = network.SerializeToString()
    result = TransformGraph(network, ["x"], ["y:0"], [transform])
    types = {*ops(result).values()}
    assert not types & {*gone.split()} and types >= {*left.split()}
    np.testing.assert_allclose(value(result, "y"), value(network, "y"), rtol=1e-5)
    assert network.SerializeToString() == before


def test_many_in_one_call(network: Any) -> None:
    result = TransformGraph(
        network,
        ["x"],
        ["y"],
        [
            "strip_unused_nodes remove_nodes(op=Identity, op=CheckNumerics)",
            "fold_constants",
            "fold_batch_norms",
            "fold_old_batch_norms",
            "sort_by_execution_order",
        ],
    )
    found = ops(result)
    assert sorted(op for op in found.values() if op != "Const") == sorted(
        ["Placeholder", "Conv2D", "Conv2D", "BiasAdd", "Mul", "Add"]
    )
    assert found["scaled"] == "Conv2D" and found["two"] == "Const"
    seen: set[str] = set()
    for node in result.node:
        assert {name.lstrip("^").partition(":")[0] for name in node.input} <= seen
        seen.add(node.name)
    np.testing.assert_allclose(value(result, "y"), value(network, "y"), rtol=1e-5)


def test_an_input_within_the_network_becomes_a_placeholder(network: Any) -> None:
    call = 'strip_unused_nodes(type=float, shape="1,5,5,3")'
    result = TransformGraph(network, ["checked"], ["bn"], [call])
    placeholder = next(node for node in result.node if node.name == "checked")
    assert "c" not in ops(result) and placeholder.op == "Placeholder" and not placeholder.input
    assert [d.size for d in placeholder.attr["shape"].shape.dim] == [1, 5, 5, 3]
    named = 'strip_unused_nodes(name=checked, type_for_name=double, shape_for_name="2")'
    result = TransformGraph(network, ["checked"], ["bn"], [named])
    placeholder = next(node for node in result.node if node.name == "checked")
    assert placeholder.attr["dtype"].type == tf.float64.as_datatype_enum


def test_outputs_stay_and_equal_nodes_become_one(network: Any) -> None:
    kept = TransformGraph(network, ["x"], ["checked"], ["remove_nodes(op=CheckNumerics)"])
    assert ops(kept)["checked"] == "CheckNumerics"
    merged = TransformGraph(network, ["x"], ["twice"], ["merge_duplicate_nodes"])
    assert [*ops(merged).values()].count("Tanh") == 1
    np.testing.assert_allclose(value(merged, "twice"), value(network, "twice"), rtol=1e-6)
    folded = TransformGraph(network, ["x"], ["two"], ["fold_constants"])
    assert ops(folded) == {"a": "Const", "b": "Const", "two": "Mul"}


def test_names_and_devices(network: Any) -> None:
    def nodes(call: str) -> dict[str, Any]:
        return {node.name: node for node in TransformGraph(network, ["x"], ["y"], [call]).node}

    assert {n.device for n in nodes("remove_device").values()} == {""}
    assert {n.device for n in nodes('set_device(device="/gpu:0")').values()} == {"/gpu:0"}
    some = nodes('set_device(device="/gpu:0", if_default=true)')
    assert some["checked"].device != "/gpu:0" and some["y"].device == "/gpu:0"
    assert nodes("rename_op(old_op_name=Mul, new_op_name=Times)")["two"].op == "Times"
    renamed = nodes("rename_attribute(old_attribute_name=T, new_attribute_name=U, op_name=Mul)")
    assert "U" in renamed["two"].attr and "T" in renamed["bn"].attr
    assert "T" not in nodes("remove_attribute(attribute_name=T)")["two"].attr
    assert not nodes("remove_control_dependencies")["offset"].input


def test_what_is_refused(network: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'nothing' not recognized"):
        TransformGraph(network, ["x"], ["y"], ["nothing"])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"'quantize_weights' is not part of d"
    ):
        TransformGraph(network, ["x"], ["y"], ["quantize_weights"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="node absent not found"):
        TransformGraph(network, ["x"], ["absent"], ["strip_unused_nodes"])


def test_the_path_of_tensorflow() -> None:
    from dataflow.python import paths

    paths.install()
    module = importlib.import_module("dataflow.tools.graph_transforms")
    assert module.TransformGraph is TransformGraph
