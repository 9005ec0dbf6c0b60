"""`tf.saved_model.load_v2` of SavedModels of graphs, in eager code; as TensorFlow 1.15 gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A SavedModel with a layer, a table of a file's words, and two inputs that are subtracted."""
    words = tmp_path / "words.txt"
    words.write_text("a\nb\n")
    folder = tmp_path / "exported"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        start = np.array([[1.0], [2.0]], np.float32)
        y = tf.matmul(x, tf.get_variable("w", initializer=start), name="y")
        again = x * tf.get_variable("scale", initializer=3.0, use_resource=True)
        table = tf.contrib.lookup.index_table_from_file(str(words), default_value=-1)
        keys = tf.placeholder(tf.string, [None])
        p, q = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        session.run(tf.global_variables_initializer())

        def signature(inputs: Any, outputs: Any) -> Any:
            infos = [
                {k: tf.saved_model.build_tensor_info(t) for k, t in ts.items()}
                for ts in (inputs, outputs)
            ]
            return tf.saved_model.build_signature_def(*infos, "tensorflow/serving/predict")

        builder = tf.saved_model.builder.SavedModelBuilder(str(folder))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": signature({"x": x}, {"y": y, "again": again}),
                "look": signature({"keys": keys}, {"numbers": table.lookup(keys)}),
                "subtract": signature({"q": q, "p": p}, {"d": p - q}),
            },
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(),
        )
        builder.save()
    words.unlink()
    return folder


def test_signatures_are_functions(exported: Path) -> None:
    model = tf.saved_model.load_v2(str(exported))
    assert sorted(model.signatures) == ["look", "serving_default", "subtract"]
    serve = model.signatures["serving_default"]
    got = serve(x=tf.constant([[1.0, 1.0], [2.0, 3.0]]))
    assert got["y"].numpy().tolist() == [[3.0], [8.0]]
    assert got["again"].numpy().tolist() == [[3.0, 3.0], [6.0, 9.0]]
    assert serve(tf.constant([[1.0, 1.0]]))["y"].numpy().tolist() == [[3.0]]
    assert serve.structured_outputs["y"].shape.as_list() == [None, 1]
    subtract = model.signatures["subtract"]
    assert subtract(p=tf.constant(5.0), q=tf.constant(2.0))["d"].numpy() == 3.0
    with pytest.raises(TypeError, match="by their names"):
        subtract(tf.constant(5.0), tf.constant(2.0))


def test_tables_are_filled_from_the_files_of_the_model(exported: Path) -> None:
    look = tf.saved_model.load_v2(str(exported), ["serve"]).signatures["look"]
    assert look(keys=tf.constant(["b", "z", "a"]))["numbers"].numpy().tolist() == [1, -1, 0]


def test_parts_of_the_graph_and_gradients(exported: Path) -> None:
    model = tf.saved_model.load_v2(str(exported))
    part = model.prune("x:0", "y:0")
    x = tf.constant([[1.0, 1.0]])
    assert part(x).numpy().tolist() == [[3.0]]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model.signatures["serving_default"](x=x)["y"]
    assert tape.gradient(y, x).numpy().tolist() == [[1.0, 2.0]]
    assert model.graph.get_tensor_by_name("y:0").shape.as_list() == [None, 1]


def test_one_of_several_graphs_is_said_by_its_tags(tmp_path: Path) -> None:
    builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "both"))
    for tags in (["a"], ["b", "c"]):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.constant(1.0)
            if tags == ["a"]:
                builder.add_meta_graph_and_variables(session, tags)
            else:
                builder.add_meta_graph(tags)
    builder.save()
    with pytest.raises(ValueError, match="requires a 'tags=' argument"):
        tf.saved_model.load_v2(str(tmp_path / "both"))
    assert not tf.saved_model.load_v2(str(tmp_path / "both"), ["c", "b"]).signatures
