"""`Saver`: what is saved comes back, what does not fit is refused whole, and a kill costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import checkpoint

THEIRS = Path(__file__).parents[1] / "formats" / "tensorflow_files"


pytestmark = pytest.mark.usefixtures("graph")


def model(value: float = 1.0):
    weights = tf.get_variable("w", initializer=np.full((2, 3), value, np.float32))
    words = tf.get_variable("words", initializer=tf.constant([b"a", b"\xff"]), trainable=False)
    step = tf.get_variable("step", initializer=np.int64(int(value)), trainable=False)
    return weights, words, step


def saved(folder: Path, step: int | None = None) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        model(7.0)
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(folder / "model.ckpt"), global_step=step)


def test_values_come_back_without_initialization(tmp_path):
    prefix = saved(tmp_path, 100)
    assert prefix == str(tmp_path / "model.ckpt-100")
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        "model.ckpt-100.meta",
        "model.ckpt-100.safetensors",
    ]
    variables = model()
    with tf.Session() as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(tmp_path))
        weights, words, step = session.run(list(variables))
    np.testing.assert_array_equal(weights, np.full((2, 3), 7))
    assert words.tolist() == [b"a", b"\xff"]
    assert step == 7
    assert step.dtype == np.int64


def test_large_values_are_read_by_several_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_SHARED_ELEMENTS", 3)
    values = [np.full(i, i + 0.5, np.float32) for i in range(8)]
    variables = [tf.Variable(value) for value in values]
    saver = tf.train.Saver()
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        path = saver.save(s, str(tmp_path / "model"))
    with tf.Session() as s:
        saver.restore(s, path)
        for got, wanted in zip(s.run(variables), values, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_nodes_have_tensorflows_names(graph):
    model()
    saver_def = tf.train.Saver().as_saver_def()
    assert saver_def.filename_tensor_name == "save/Const:0"
    assert saver_def.save_tensor_name == "save/control_dependency:0"
    assert saver_def.restore_op_name == "save/restore_all"
    types = {op.name: op.type for op in graph.get_operations()}
    assert types["save/SaveV2"] == "SaveV2"
    assert types["save/RestoreV2"] == "RestoreV2"
    assert types["save/Assign_2"] == "Assign"


def test_what_does_not_fit_is_listed_and_nothing_is_restored(tmp_path):
    prefix = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.get_variable("w", initializer=np.zeros((2, 3), np.float32))
        tf.get_variable("step", initializer=np.float32(0))
        tf.get_variable("words", initializer=tf.constant([b"", b"", b""]))
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.train.Saver().restore(session, prefix)
        assert "step: int64 in the file, needed float32" in str(caught.value)
        assert "words: shape [2] in the file, needed [3]" in str(caught.value)
        np.testing.assert_array_equal(session.run(weights), np.zeros((2, 3)))
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.get_variable("w", initializer=np.zeros((2, 3), np.float32))
        tf.get_variable("stepp", initializer=np.int64(0))
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.NotFoundError, match=r"Key stepp not found.*there is: step"):
            tf.train.Saver().restore(session, prefix)
        np.testing.assert_array_equal(session.run(weights), np.zeros((2, 3)))


@pytest.mark.parametrize("damage", ["cut", "foreign", "flipped"])
def test_a_damaged_file_is_refused_and_nothing_is_restored(tmp_path, damage):
    prefix = saved(tmp_path)
    path = Path(prefix + ".safetensors")
    data = path.read_bytes()
    flipped = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
    path.write_bytes({"cut": data[:-5], "foreign": b"PK" + data, "flipped": flipped}[damage])
    variables = model(0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.DataLossError, match=r"model\.ckpt\.safetensors"):
            tf.train.Saver().restore(session, prefix)
        np.testing.assert_array_equal(session.run(variables[0]), np.zeros((2, 3)))


def test_a_missing_checkpoint_is_a_value_error_that_says_what_is_there(tmp_path):
    saved(tmp_path, 5)
    model()
    saver = tf.train.Saver()
    with tf.Session() as session:
        with pytest.raises(ValueError, match=r"not a valid checkpoint[\s\S]*model\.ckpt-5"):
            saver.restore(session, str(tmp_path / "model.ckpt-6"))
        with pytest.raises(ValueError, match="None"):
            saver.restore(session, None)


def test_a_checkpoint_of_tensorflow_is_restored(tmp_path):
    with np.errstate(all="ignore"):
        reader = tf.train.NewCheckpointReader(str(THEIRS / "model.ckpt-12"))
    value = reader.get_tensor("float64")
    variable = tf.get_variable("float64", initializer=np.zeros_like(value))
    with tf.Session() as session:
        tf.train.Saver([variable]).restore(session, str(THEIRS / "model.ckpt-12"))
        np.testing.assert_array_equal(session.run(variable), value)


def test_only_the_last_ones_are_kept(tmp_path):
    model()
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(4):
            saver.save(session, str(tmp_path / "m"), global_step=step)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["checkpoint", "m-2.meta", "m-2.safetensors", "m-3.meta", "m-3.safetensors"]
    again = tf.train.Saver(max_to_keep=2, name="again")
    state = tf.train.get_checkpoint_state(tmp_path)
    again.recover_last_checkpoints([*state.all_model_checkpoint_paths, str(tmp_path / "gone")])
    assert [os.path.basename(p) for p in again.last_checkpoints] == ["m-2", "m-3"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        again.save(session, str(tmp_path / "m"), global_step=9)
    assert not (tmp_path / "m-2.safetensors").exists()


def test_one_for_every_so_many_hours_is_kept_for_good(tmp_path):
    model()
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(3):
            time.sleep(0.01)
            saver.save(session, str(tmp_path / "m"), global_step=step)
    assert (tmp_path / "m-0.safetensors").exists()


def test_a_folder_with_relative_paths_can_be_moved(tmp_path):
    model()
    (tmp_path / "a").mkdir()
    saver = tf.train.Saver(save_relative_paths=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, str(tmp_path / "a" / "m"), global_step=1)
    (tmp_path / "a").rename(tmp_path / "b")
    assert tf.train.latest_checkpoint(tmp_path / "b") == str(tmp_path / "b" / "m-1")


def test_partitions_are_stored_as_one_and_read_into_others(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("s", partitioner=lambda shape, dtype: [3, 1]):
            whole = tf.get_variable("t", [5, 2])
        session.run(tf.global_variables_initializer())
        value = session.run(tf.convert_to_tensor(whole))
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(prefix) == [("s/t", [5, 2])]
    stored = tf.train.load_variable(prefix, "s/t")
    np.testing.assert_array_equal(stored, value)
    with tf.variable_scope("s", partitioner=lambda shape, dtype: [2, 1]):
        table = tf.get_variable("t", [5, 2])
    with tf.Session() as session:
        tf.train.Saver().restore(session, prefix)
        parts = session.run(list(table))
    np.testing.assert_array_equal(np.concatenate(parts), stored)


def test_shards_of_several_tasks_become_one_checkpoint(tmp_path):
    with tf.device("/job:ps/task:0"):
        tf.get_variable("a", initializer=[1.0, 2.0])
    with tf.device("/job:ps/task:1"):
        tf.get_variable("b", initializer=[3.0])
    saver = tf.train.Saver(sharded=True)
    devices = {op.device for op in tf.get_default_graph().get_operations() if op.type == "SaveV2"}
    assert len(devices) == 2
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "m"))
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m.meta", "m.safetensors"]
    assert tf.train.load_variable(prefix, "a").tolist() == [1.0, 2.0]


def test_variable_maps_and_errors(tmp_path):
    prefix = saved(tmp_path)
    other = tf.get_variable("other", initializer=np.zeros((2, 3), np.float32))
    with tf.Session() as session:
        tf.train.Saver({"w": other}).restore(session, prefix)
        assert session.run(other)[0, 0] == 7
    with pytest.raises(ValueError, match="two names"):
        tf.train.Saver({"x": other, "y": other})
    with pytest.raises(TypeError, match="not a Variable"):
        tf.train.Saver([tf.constant(1.0)])
    with pytest.raises(ValueError, match="same name"):
        tf.train.Saver([other, other])
    with tf.Graph().as_default(), pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    with tf.Graph().as_default():
        assert tf.train.Saver(allow_empty=True).save(tf.Session(), str(tmp_path / "n")) is None
    with tf.Session() as session, pytest.raises(ValueError, match="doesn't exist"):
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "no" / "such" / "folder" / "m"))


def test_init_from_checkpoint_reads_when_the_initializers_run(tmp_path):
    prefix = saved(tmp_path)
    with tf.variable_scope("inner"):
        weights = tf.get_variable("w", shape=[2, 3])
    tf.train.init_from_checkpoint(prefix, {"w": "inner/w"})
    step = tf.get_variable("step2", initializer=np.int64(0))
    tf.train.init_from_checkpoint(str(tmp_path), {"step": step})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([weights[0, 0], step]) == [7, 7]
    with pytest.raises(ValueError, match="not found"):
        tf.train.init_from_checkpoint(prefix, {"nothing": weights})
    small = tf.get_variable("small", shape=[2])
    with pytest.raises(ValueError, match="doesn't match"):
        tf.train.init_from_checkpoint(prefix, {"w": small})


def test_a_meta_graph_rebuilds_the_model_with_its_collections(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.Variable(3.0, name="w")
        y = tf.multiply(x, w, name="y")
        tf.add_to_collection("outputs", y)
        tf.add_to_collection("numbers", 5)
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y), name="train")
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    saver = tf.train.import_meta_graph(prefix + ".meta")
    with tf.Session() as session:
        saver.restore(session, prefix)
        (output,) = tf.get_collection("outputs")
        assert tf.get_collection("numbers") == [5]
        assert session.run(output, {"x:0": [2.0]}).tolist() == [6.0]
        session.run("train", {"x:0": [1.0]})
        np.testing.assert_allclose(session.run("w:0"), 2.9)
    assert tf.trainable_variables() == [v for v in tf.global_variables() if v.op.name == "w"]


def test_a_meta_graph_can_be_imported_below_a_scope(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(3.0, name="w")
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    saver = tf.train.import_meta_graph(prefix + ".meta", import_scope="old")
    assert [v.name for v in tf.global_variables()] == ["old/w:0"]
    with tf.Session() as session:
        saver.restore(session, prefix)
        assert session.run("old/w:0") == 3.0


def test_a_damaged_meta_graph_is_refused(tmp_path):
    prefix = saved(tmp_path)
    path = Path(prefix + ".meta")
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(OSError, match="truncated"):
        tf.train.import_meta_graph(str(path))
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))


SAVE_FOR_EVER = """
import sys
import numpy as np
import dataflow as tf
v = tf.get_variable("v", initializer=np.zeros(200_000, np.float32))
grow = tf.assign_add(v, tf.ones_like(v))
saver = tf.train.Saver(max_to_keep=3)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(100_000):
        session.run(grow)
        saver.save(session, sys.argv[1], global_step=step)
        print(step, flush=True)
"""


def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(folder / "m")],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        ) as process:
            for _ in range(3):
                assert process.stdout.readline()
            time.sleep(0.003 * attempt)
            process.send_signal(signal.SIGKILL)
        prefix = tf.train.latest_checkpoint(folder)
        assert prefix is not None
        value = tf.train.load_variable(prefix, "v")
        # The steps count from 0, and each one is saved after the variable grew.
        np.testing.assert_array_equal(value, np.full(200_000, int(prefix.rpartition("-")[2]) + 1))
        assert os.path.exists(prefix + ".meta")


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    variables = model(1.0)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "m"))
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        session.run(tf.assign(variables[2], 5))
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            saver.save(session, prefix)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_saver_def_of_another_graph_is_refused_by_name(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        session.run(v.initializer)
        path = tf.train.Saver([v]).save(session, str(tmp_path / "model"))
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.saver_def.filename_tensor_name = "elsewhere:0"
        with pytest.raises(KeyError, match="elsewhere"):
            saver.restore(session, path)


@pytest.mark.parametrize(
    ("folder", "path", "expected"),  # what TensorFlow 2.15 gives
    [
        ("train", "model-0", "../model-0"),
        ("train", "train/model-0", "model-0"),
        ("train", "../model-0", "../../model-0"),
        ("train", "/abs/m", "/abs/m"),
        ("/a", "m", "m"),
        ("./t", "t/m", "m"),
    ],
)
def test_state_as_an_object(folder: str, path: str, expected: str) -> None:
    state = tf.train.generate_checkpoint_state_proto(folder, path, [path])
    assert state.model_checkpoint_path == expected
    assert state.all_model_checkpoint_paths == [expected]


def test_second_start_in_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        add = tf.assign_add(step, 1)
        for end in (3, 6):
            hooks = [tf.train.StopAtStepHook(num_steps=3)]
            with tf.train.MonitoredTrainingSession(checkpoint_dir="rel", hooks=hooks) as sess:
                while not sess.should_stop():
                    reached = sess.run(add)
            assert reached == end
            assert tf.train.latest_checkpoint("rel") == f"rel/model.ckpt-{end}"
        for end in (1, 2):
            supervisor = tf.train.Supervisor(logdir="sup")
            with supervisor.managed_session() as sess:
                assert sess.run(add) == end
                supervisor.saver.save(sess, supervisor.save_path, global_step=step)


def test_only_the_very_name_of_the_state_file_is_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0)
        sess.run(v.initializer)
        saver = tf.train.Saver()
        path = str(tmp_path / "checkpoint")
        assert saver.save(sess, path, global_step=1) == path + "-1"
        assert tf.train.latest_checkpoint(tmp_path) == path + "-1"
        with pytest.raises(ValueError, match="collides"):
            saver.save(sess, path)


def test_keys_that_end_like_names_of_tensors(tmp_path: Path) -> None:
    """`Saver({v.name: v})` saves under "v:0", and restores from there, as in TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0], name="v")
        saver = tf.train.Saver({v.name: v})
        session.run(v.initializer)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(v.assign([5.0]))
        saver.restore(session, path)
        assert session.run(v).tolist() == [1.0]
        assert [name for name, _ in tf.train.list_variables(path)] == ["v:0"]
        assert tf.train.load_variable(path, "v:0").tolist() == [1.0]
        plain = tf.train.Saver().save(session, str(tmp_path / "plain"))
        assert tf.train.load_variable(plain, "v:0").tolist() == [1.0]
