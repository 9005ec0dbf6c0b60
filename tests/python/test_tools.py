"""The tools and helpers of ``tensorflow.python`` that programs import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import pywrap_tensorflow
from dataflow.python.eager import context
from dataflow.python.platform import resource_loader
from dataflow.python.tools import (
    freeze_graph,
    inspect_checkpoint,
    optimize_for_inference_lib,
    strip_unused_lib,
)
from dataflow.python.util import deprecation, tf_export, tf_inspect

W = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model y = x W + b with its checkpoint, graph and meta graph."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable(W, name="w")
        b = tf.Variable([1.0, -1.0], name="b")
        tf.Variable(7.0, name="unused")
        doubled = tf.identity(x * 2.0, name="doubled")
        tf.add(tf.matmul(doubled, w), b, name="y")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "model"))
        tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pbtxt")
        tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pb", as_text=False)
    return tmp_path


def value_of(graph_def: Any, feed: str = "x:0") -> Any:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        return sess.run(graph.get_tensor_by_name("y:0"), {feed: [[1.0, 1.0]]})


@pytest.mark.parametrize("source", ["graph.pb", "graph.pbtxt", "model.meta"])
def test_a_frozen_graph_computes_what_the_model_does(saved: Path, source: str) -> None:
    meta = str(saved / source) if source.endswith(".meta") else None
    out = saved / "frozen.pb"
    frozen = freeze_graph.freeze_graph(
        "" if meta else str(saved / source),
        "",
        not source.endswith("pbtxt"),
        str(saved / "model"),
        "y",
        "save/restore_all",
        "save/Const:0",
        str(out),
        True,
        "",
        input_meta_graph=meta,
    )
    assert {n.op for n in frozen.node} >= {"Const", "MatMul"}
    assert "unused" not in [n.name for n in frozen.node]
    assert not [n.name for n in frozen.node if n.op.startswith("Variable")]
    np.testing.assert_array_equal(value_of(frozen), [[9.0, 11.0]])
    np.testing.assert_array_equal(value_of(tf.GraphDef.FromString(out.read_bytes())), [[9.0, 11.0]])

    smaller = optimize_for_inference_lib.optimize_for_inference(
        frozen, ["x"], ["y"], tf.float32.as_datatype_enum
    )
    assert len(smaller.node) < len(frozen.node)
    np.testing.assert_array_equal(value_of(smaller), [[9.0, 11.0]])
    cut = strip_unused_lib.strip_unused(frozen, ["doubled"], ["y"], tf.float32.as_datatype_enum)
    assert "x" not in [n.name for n in cut.node]
    np.testing.assert_array_equal(value_of(cut, "doubled:0"), [[5.0, 5.0]])


def test_what_cannot_be_frozen_says_why(saved: Path) -> None:
    with pytest.raises(ValueError, match="file '.*none.pb' does not exist"):
        freeze_graph.freeze_graph(str(saved / "none.pb"), "", True, "c", "y", "", "", "", True, "")
    graph_def = tf.GraphDef.FromString((saved / "graph.pb").read_bytes())
    with pytest.raises(ValueError, match="checkpoint 'nowhere' doesn't exist"):
        freeze_graph.freeze_graph_with_def_protos(graph_def, None, "nowhere", "y")
    with pytest.raises(ValueError, match="name of a node"):
        freeze_graph.freeze_graph_with_def_protos(graph_def, None, str(saved / "model"), " ")
    with pytest.raises(KeyError, match="no_such"):
        strip_unused_lib.strip_unused(graph_def, ["no_such"], ["y"], 1)


def test_a_checkpoint_is_printed(saved: Path, capsys: Any) -> None:
    show = inspect_checkpoint.print_tensors_in_checkpoint_file
    show(str(saved / "model"), tensor_name="w", all_tensors=False)
    assert capsys.readouterr().out == (
        "tensor_name:  w\n[[1. 2.]\n [3. 4.]]\n# Total number of params: 7\n"
    )
    show(str(saved / "model"), None, all_tensors=False, all_tensor_names=True)
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"tensor_name:  {name}" for name in ("b", "unused", "w")
    ]
    show(str(saved / "model"), "", False, count_exclude_pattern="u")
    text = capsys.readouterr().out
    assert "\nw (" in text and text.endswith("params: 6\n")
    reader = pywrap_tensorflow.NewCheckpointReader(str(saved / "model"))
    assert reader.has_tensor("w") and tf.pywrap_tensorflow is pywrap_tensorflow


def test_decorators_of_private_modules(capsys: Any) -> None:
    @tf_export.tf_export("my.op")  # type: ignore[untyped-decorator]
    @deprecation.deprecated("2017-01-01", "Use other.")  # type: ignore[untyped-decorator]
    def f(a: int, b: int | None = None) -> int:
        """Adds."""
        return a + (b or 0)

    assert f.__doc__ == "Adds." and f.__name__ == "f"
    assert f(1, b=2) == 3 and f(1) == 1
    told = capsys.readouterr().err
    assert told.count("is deprecated and will be removed after 2017-01-01. Use other.") == 1
    assert tf_inspect.getfullargspec(f).args in (["a", "b"], [])
    with pytest.raises(ValueError, match="both 'old' and 'new'"):
        deprecation.deprecated_argument_lookup("new", 1, "old", 2)
    assert deprecation.deprecated_argument_lookup("new", None, "old", 2) == 2


def test_files_beside_a_program() -> None:
    assert Path(resource_loader.get_path_to_datafile("x.txt")) == Path(__file__).parent / "x.txt"
    assert resource_loader.load_resource("test_tools.py").startswith(b'"""The tools')
    assert tf.resource_loader is resource_loader
    assert not context.executing_eagerly() and context.in_graph_mode()
    with context.graph_mode():
        assert tf.constant(1).op is not None


def test_a_saved_model_is_frozen(saved: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(str(saved / "model.meta")).restore(sess, str(saved / "model"))
        x, y = (sess.graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
        tf.saved_model.simple_save(sess, str(saved / "served"), {"x": x}, {"y": y})
    out = str(saved / "frozen.pb")
    files = ("", "", False, None, "y", None, None, out, False, "", "", "", None)
    frozen = freeze_graph.freeze_graph(*files, str(saved / "served"), "serve", checkpoint_version=2)
    np.testing.assert_array_equal(value_of(frozen), [[9.0, 11.0]])


def test_a_variable_in_parts_is_not_frozen_from_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        parts = tf.fixed_size_partitioner(2)
        v = tf.get_variable("v", [4, 2], partitioner=parts)
        tf.identity(v, name="y")
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    with pytest.raises(ValueError, match="'v' of the checkpoint in parts"):
        freeze_graph.freeze_graph_with_def_protos(graph.as_graph_def(), None, path, "y")


@pytest.mark.parametrize("is_depthwise", [False, True])
def test_batch_normalizations_are_folded(is_depthwise: bool) -> None:
    numbers = np.random.default_rng(3)

    def constant(*shape: int) -> Any:
        return tf.constant(numbers.uniform(0.5, 2.0, shape).astype(np.float32))

    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 5, 5, 2], name="x")
        if is_depthwise:
            conv = tf.nn.depthwise_conv2d(x, constant(3, 3, 2, 2), [1, 1, 1, 1], "SAME")
        else:
            conv = tf.nn.conv2d(x, constant(3, 3, 2, 4), [1, 1, 1, 1], "SAME")
        scale, offset, mean, variance = (constant(4) for _ in range(4))
        normal, _, _ = tf.nn.fused_batch_norm(
            conv, scale, offset, mean, variance, is_training=False, name="y"
        )
        value = numbers.normal(size=(2, 5, 5, 2))
        expected = sess.run(normal, {x: value})
    smaller = optimize_for_inference_lib.optimize_for_inference(
        graph.as_graph_def(), ["x"], ["y"], tf.float32.as_datatype_enum
    )
    assert [n.op for n in smaller.node if n.name == "y"] == ["BiasAdd"]
    assert not [n for n in smaller.node if n.op.startswith("FusedBatchNorm")]
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(smaller, name="")
        np.testing.assert_allclose(sess.run("y:0", {"x:0": value}), expected, rtol=1e-4)


def test_checks_go_with_what_waits_for_them() -> None:
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        check = tf.check_numerics(a, "not finite", name="check")
        with tf.control_dependencies([check]):
            waiting = tf.identity(a, name="waiting")
        tf.add(waiting, check, name="y")
    left = tf.graph_util.remove_training_nodes(graph.as_graph_def(), ["y"])
    assert [(n.name, list(n.input)) for n in left.node] == [("a", []), ("y", ["a", "a"])]
