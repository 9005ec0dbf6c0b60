"""SavedModels: written, loaded, and refused."""

from __future__ import annotations

import os
import shutil

import pytest

import dataflow as tf
from dataflow.train import saved_model_loader

pytestmark = pytest.mark.usefixtures("graph")


def write(folder):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        session.run(tf.global_variables_initializer())
        session.run(w.assign([[3.0], [4.0]]))
        y = tf.matmul(x, w, name="y")
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})


def test_a_model_is_loaded_with_its_signature(tmp_path):
    write(tmp_path)
    assert tf.saved_model.loader.maybe_saved_model_directory(tmp_path)
    with tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path)
        signature = meta.signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        y = tf.saved_model.utils.get_tensor_from_tensor_info(signature.outputs["y"])
        assert session.run(y, {signature.inputs["x"].name: [[1.0, 1.0]]}).tolist() == [[7.0]]


def test_a_model_can_be_loaded_below_a_scope(tmp_path):
    write(tmp_path)
    with tf.Session() as session:
        tf.saved_model.load(session, ["serve"], tmp_path, import_scope="old")
        assert session.run("old/y:0", {"old/x:0": [[1.0, 0.0]]}).tolist() == [[3.0]]


def test_tables_and_assets_come_along(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default(), tf.Session() as session:
        name = tf.constant(str(tmp_path / "words.txt"), name="vocabulary")
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, name)
        text = tf.read_file(name, name="text")
        v = tf.Variable(0, name="v")
        ready = v.assign(tf.size(tf.string_split([text], "\n").values)).op
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(
            session, tmp_path / "saved", {"n": name}, {"t": text}, legacy_init_op=ready
        )
    (tmp_path / "words.txt").unlink()
    with tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], tmp_path / "saved")
        assert session.run("v:0") == 2


def test_what_is_refused(tmp_path):
    write(tmp_path / "a")
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.builder.SavedModelBuilder(tmp_path / "a")
    with tf.Session() as session:
        with pytest.raises(RuntimeError, match=r"could not be found[\s\S]*\['serve'\]"):
            tf.saved_model.loader.load(session, ["train"], tmp_path / "a")
        with pytest.raises(OSError, match="does not exist"):
            tf.saved_model.loader.load(session, ["serve"], tmp_path / "b")
        path = tmp_path / "a" / "saved_model.pb"
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(OSError, match="Cannot parse"):
            tf.saved_model.loader.load(session, ["serve"], tmp_path / "a")
    with pytest.raises(ValueError, match="None or empty"):
        tf.saved_model.signature_def_utils.predict_signature_def({}, {})
    builder = tf.saved_model.builder.SavedModelBuilder(tmp_path / "c")
    with pytest.raises(AssertionError, match="has not been saved yet"):
        builder.add_meta_graph(["serve"])


def test_a_saved_model_as_text_and_what_names_its_parts(tmp_path) -> None:
    from dataflow.saved_model import utils

    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.sparse_placeholder(tf.float32, [4, 6], name="x")
        v = tf.Variable(3.0, name="v")
        op = tf.group(v, name="main")
        sess.run(v.initializer)
        info = utils.build_tensor_info(x)
        assert info.coo_sparse.values_tensor_name == x.values.name
        assert [d.size for d in info.tensor_shape.dim] == [4, 6]
        assert utils.get_tensor_from_tensor_info(info).indices is x.indices
        assert utils.build_tensor_info_from_op(op).name == "main"
        with pytest.raises(ValueError, match="encoding"):
            utils.get_tensor_from_tensor_info(type(info)())
        builder = tf.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(sess, ["a"])
        assert builder.save(as_text=True).endswith(b".pbtxt")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.saved_model.load(sess, ["a"], folder)
        assert sess.run(graph.get_tensor_by_name("v:0")) == 3.0
    (tmp_path / "model" / "saved_model.pbtxt").write_text("no message")
    with pytest.raises(OSError, match="Cannot parse"), tf.Session() as sess:
        tf.saved_model.load(sess, ["a"], folder)


def asset(path, text: str):
    """A path as a constant of the graph, and its file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return tf.constant(str(path), name="vocabulary")


def write_with_assets(folder, assets, as_text: bool = False) -> None:
    with tf.Session() as session:
        v = tf.Variable("", name="v")
        ready = v.assign(tf.read_file(assets[0])).op
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(
            session, ["serve"], assets_collection=assets, legacy_init_op=ready
        )
        builder.save(as_text)


@pytest.mark.parametrize("as_text", [False, True])
def test_assets_of_tensorflow_1_are_in_a_collection(tmp_path, as_text) -> None:
    """TensorFlow 1 writes and reads a list of any messages; the newer field may be empty."""
    write_with_assets(tmp_path / "m", [asset(tmp_path / "words.txt", "a b")], as_text)
    (tmp_path / "words.txt").unlink()
    file = tmp_path / "m" / ("saved_model.pbtxt" if as_text else "saved_model.pb")
    data = file.read_bytes()
    assert b"type.googleapis.com/tensorflow.AssetFileDef" in data
    assert b"tensorboard" not in data
    meta = saved_model_loader.read_saved_model(tmp_path / "m")[0]
    meta.ClearField("asset_file_def")
    builder = tf.saved_model.builder.SavedModelBuilder(tmp_path / "of_1")
    builder._meta_graphs = [meta]
    builder.save(as_text)
    shutil.copytree(
        tmp_path / "m", tmp_path / "of_1", dirs_exist_ok=True, ignore=lambda *_: [file.name]
    )
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path / "of_1")
        assert not meta.asset_file_def
        assert session.run("v:0") == b"a b"
    found = type(meta)().asset_file_def.add()
    assert meta.collection_def["saved_model_assets"].any_list.value[0].Unpack(found)
    assert (found.filename, found.tensor_info.name) == ("words.txt", "vocabulary:0")


def test_assets_of_one_name(tmp_path) -> None:
    """Different files get numbers, one file that is named twice is stored once."""
    assets = [
        asset(tmp_path / "one" / "words.txt", "one"),
        asset(tmp_path / "two" / "words.txt", "two"),
        asset(tmp_path / "same" / "words.txt", "one"),
        asset(tmp_path / "three" / "words.txt", "three"),
    ]
    write_with_assets(tmp_path / "m", assets)
    stored = {p.name: p.read_text() for p in (tmp_path / "m" / "assets").iterdir()}
    assert stored == {"words.txt": "one", "words.txt_1": "two", "words.txt_2": "three"}
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path / "m")
    names = [a.filename for a in meta.asset_file_def]
    assert names == ["words.txt", "words.txt_1", "words.txt", "words.txt_2"]


def test_a_file_that_another_graph_stored_stays(tmp_path) -> None:
    builder = tf.saved_model.builder.SavedModelBuilder(tmp_path / "m")
    tf.Variable(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = [asset(tmp_path / "words.txt", "one")]
        builder.add_meta_graph_and_variables(session, ["a"], assets_collection=first)
        builder.add_meta_graph(["b"], assets_collection=[asset(tmp_path / "words.txt", "two")])
    assert (tmp_path / "m" / "assets" / "words.txt").read_text() == "one"


@pytest.mark.parametrize(("field", "message"), [("name", "'encoding' fields"), ("dtype", "dtype")])
def test_a_signature_needs_names_and_types(tmp_path, field, message) -> None:
    info = tf.saved_model.utils.build_tensor_info(tf.Variable(0))
    info.ClearField(field)
    signature = tf.saved_model.signature_def_utils.build_signature_def({"x": info}, {}, "f")
    builder = tf.saved_model.builder.SavedModelBuilder(tmp_path)
    with tf.Session() as session, pytest.raises(AssertionError, match=message):
        session.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(session, ["serve"], {"s": signature})


def test_a_loader_goes_step_by_step(tmp_path):
    write(tmp_path)
    loader = saved_model_loader.SavedModelLoader(os.fsencode(tmp_path))
    assert loader.export_dir == str(tmp_path)
    assert set(loader.get_meta_graph_def_from_tags(["serve"]).signature_def) == {"serving_default"}
    graph = tf.Graph()
    saver, (y, x) = loader.load_graph(graph, ["serve"], return_elements=["y:0", "x"])
    assert y is graph.get_tensor_by_name("y:0") and x is graph.get_operation_by_name("x")
    with tf.Session(graph=graph) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run("w:0")
        with pytest.raises(ValueError, match=r"needs a tf\.train\.Saver"):
            loader.restore_variables(session, None)
        loader.restore_variables(session, saver)
        loader.run_init_ops(session, ["serve"])  # there is none
        assert session.run("w:0").tolist() == [[3.0], [4.0]]
    with pytest.raises(ValueError, match="'z:0' not found in graph"):
        loader.load_graph(tf.Graph(), ["serve"], return_elements=["z:0"])
    with pytest.raises(RuntimeError, match="there is"):
        loader.get_meta_graph_def_from_tags([""])


@pytest.mark.parametrize("is_in_signature", [False, True])
def test_an_op_of_initialization_runs_below_its_scope(tmp_path, is_in_signature):
    from dataflow.saved_model import builder

    made = (builder._SavedModelBuilder if is_in_signature else builder.SavedModelBuilder)(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(5, name="v")
        session.run(tf.global_variables_initializer())
        op = tf.group(v.assign(7))
        key = "init_op" if is_in_signature else "main_op"
        made.add_meta_graph_and_variables(session, ["g"], {}, **{key: op})
    made.save()
    loader = saved_model_loader.SavedModelLoader(tmp_path)
    with tf.Session() as session:
        saver, _ = loader.load_graph(session.graph, ["g"], import_scope="a")
        loader.restore_variables(session, saver, "a")
        assert session.run("a/v:0") == 5
        if is_in_signature:
            with pytest.raises(tf.errors.NotFoundError, match="give the scope"):
                loader.run_init_ops(session, ["g"])
            loader.run_init_ops(session, ["g"], import_scope="a")
        else:
            loader.run_init_ops(session, ["g"])
        assert session.run("a/v:0") == 7
        loader.load(session, ["g"], import_scope="b")
        assert session.run("b/v:0") == 7


def test_libraries_read_the_file_and_its_assets(tmp_path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default(), tf.Session() as session:
        name = tf.constant(str(tmp_path / "words.txt"), name="vocabulary")
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, name)
        tf.saved_model.simple_save(session, tmp_path / "saved", {"n": name}, {"n": name})
    (meta,) = saved_model_loader.parse_saved_model(tmp_path / "saved").meta_graphs
    assert list(meta.meta_info_def.tags) == ["serve"]
    path = str(tmp_path / "saved" / "assets" / "words.txt")
    found = saved_model_loader.get_asset_tensors(str(tmp_path / "saved"), meta, "below")
    assert found == {"below/vocabulary:0": path}
    with pytest.raises(OSError, match="does not exist"):
        saved_model_loader.parse_saved_model(tmp_path)
