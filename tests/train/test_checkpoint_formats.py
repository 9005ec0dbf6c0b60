"""Checkpoints in both formats: which files there are, and what a change of format leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

FORMATS = ("safetensors", "tensorflow")


def choose(name: str) -> None:
    tf.config.experimental.set_checkpoint_format(name)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    choose("safetensors")


@pytest.fixture(params=FORMATS)
def format_name(request: pytest.FixtureRequest) -> str:
    choose(request.param)
    return str(request.param)


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def bundle(prefix: str, num_shards: int = 1) -> list[str]:
    shards = [f"{prefix}.data-{i:05d}-of-{num_shards:05d}" for i in range(num_shards)]
    return [*shards, f"{prefix}.index"]


def initialized(session: Any) -> Any:
    session.run(tf.global_variables_initializer())
    return session


def test_the_format_is_chosen_by_name() -> None:
    assert tf.config.experimental.get_checkpoint_format() == "safetensors"
    choose("tensorflow")
    assert tf.config.experimental.get_checkpoint_format() == "tensorflow"
    with pytest.raises(ValueError, match="'safetensors' or 'tensorflow'"):
        choose("v2")


def test_old_checkpoints_go_with_all_their_files(tmp_path: Path, format_name: str) -> None:
    v = tf.get_variable("v", initializer=0.0)
    saver = tf.train.Saver(max_to_keep=2)
    with initialized(tf.Session()) as session:
        for step in range(4):
            session.run(v.assign(step))
            prefix = saver.save(session, str(tmp_path / "m"), step)
    expected = ["checkpoint"]
    for name in ("m-2", "m-3"):
        files = [f"{name}.safetensors"] if format_name == "safetensors" else bundle(name)
        expected += [*files, f"{name}.meta"]
    assert names_in(tmp_path) == sorted(expected)
    assert tf.train.latest_checkpoint(tmp_path) == prefix
    assert tf.train.checkpoint_exists(prefix)
    assert len(tf.train.get_checkpoint_mtimes([prefix, str(tmp_path / "m-0")])) == 1
    tf.train.remove_checkpoint(prefix)
    assert names_in(tmp_path) == sorted(n for n in expected if not n.startswith("m-3"))
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_a_save_in_the_other_format_replaces_the_files(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=0.0)
    saver = tf.train.Saver()
    with initialized(tf.Session()) as session:
        for step, name in enumerate(["tensorflow", "safetensors", "tensorflow"]):
            choose(name)
            session.run(v.assign(step))
            prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
            files = ["m.safetensors"] if name == "safetensors" else bundle("m")
            assert names_in(tmp_path) == ["checkpoint", *files]
            assert tf.train.load_variable(prefix, "v") == step


def test_shards_become_files_of_one_checkpoint(tmp_path: Path) -> None:
    with tf.device("/job:ps/task:0"):
        tf.get_variable("a", initializer=[1.0, 2.0])
    with tf.device("/job:ps/task:1"):
        tf.get_variable("b", initializer=[b"x", b""])
    sharded, whole = tf.train.Saver(sharded=True), tf.train.Saver()
    choose("tensorflow")
    config = tf.ConfigProto(allow_soft_placement=True)
    with initialized(tf.Session(config=config)) as session:
        for saver, num_shards in ((whole, 1), (sharded, 2), (whole, 1), (sharded, 2)):
            prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
            assert names_in(tmp_path) == ["checkpoint", *bundle("m", num_shards)]
            assert tf.train.load_variable(prefix, "a").tolist() == [1.0, 2.0]
            assert tf.train.load_variable(prefix, "b").tolist() == [b"x", b""]
        choose("safetensors")
        sharded.save(session, prefix, write_meta_graph=False)
    assert names_in(tmp_path) == ["checkpoint", "m.safetensors"]


def save_in_shards(prefix: str, formats: tuple[str, ...], **attrs: bool) -> None:
    """Two parts of a tensor and another, each shard in its format, merged in the last one."""
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    shards = [f"{prefix}_temp/part-{i}" for i in range(2)]
    with tf.Session() as session:
        for shard, (start, count) in enumerate(((0, 3), (3, 2))):
            choose(formats[shard])
            save = tf.raw_ops.SaveV2(
                prefix=shards[shard],
                tensor_names=["t", f"other_{shard}"],
                shape_and_slices=[f"5 2 {start},{count}:0,2", ""],
                tensors=[rows[start : start + count], tf.constant(shard)],
            )
            session.run(save)
        choose(formats[2])
        session.run(
            tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=shards, destination_prefix=prefix, **attrs
            )
        )


@pytest.mark.parametrize("last", FORMATS)
@pytest.mark.parametrize("second", FORMATS)
@pytest.mark.parametrize("first", FORMATS)
def test_parts_from_shards_are_joined(tmp_path: Path, first: str, second: str, last: str) -> None:
    prefix = str(tmp_path / "m")
    save_in_shards(prefix, (first, second, last))
    files = ["m.safetensors"]
    if last == "tensorflow":
        files = bundle("m", 2 if first == second == last else 1)
    assert names_in(tmp_path) == files
    reader = tf.train.load_checkpoint(prefix)
    assert reader.get_variable_to_shape_map() == {"t": [5, 2], "other_0": [], "other_1": []}
    assert reader.get_tensor("t").ravel().tolist() == list(range(10))
    assert reader.get_tensor("other_1") == 1
    part = tf.raw_ops.RestoreV2(
        prefix=prefix, tensor_names=["t"], shape_and_slices=["5 2 2,2:1,1"], dtypes=[tf.float32]
    )
    with tf.Session() as session:
        assert session.run(part)[0].tolist() == [[5], [7]]


def test_merging_keeps_folders_and_skips_shards_where_told(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    save_in_shards(prefix, ("tensorflow",) * 3, delete_old_dirs=False)
    assert names_in(tmp_path) == [*bundle("m", 2), "m_temp"]
    shards = [prefix, str(tmp_path / "none")]
    with tf.Session() as session:
        for missing in (False, True):
            merge = tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=shards,
                destination_prefix=str(tmp_path / "n"),
                allow_missing_files=missing,
            )
            if missing:
                session.run(merge)
            else:
                with pytest.raises(tf.errors.NotFoundError, match="none"):
                    session.run(merge)
    assert names_in(tmp_path) == ["m_temp", *bundle("n", 2)]


def test_two_shards_with_one_name_are_refused(tmp_path: Path) -> None:
    choose("tensorflow")
    shards = [str(tmp_path / f"s{i}") for i in range(2)]
    with tf.Session() as session:
        for shard in shards:
            session.run(
                tf.raw_ops.SaveV2(
                    prefix=shard, tensor_names=["t"], shape_and_slices=[""], tensors=[[1.0]]
                )
            )
        with pytest.raises(tf.errors.InvalidArgumentError, match="Two tensors"):
            session.run(
                tf.raw_ops.MergeV2Checkpoints(
                    checkpoint_prefixes=shards, destination_prefix=str(tmp_path / "m")
                )
            )
    assert names_in(tmp_path) == sorted([*bundle("s0"), *bundle("s1")])


def test_a_part_that_is_missing_is_said(tmp_path: Path) -> None:
    choose("tensorflow")
    prefix = str(tmp_path / "m")
    save = tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["t"], shape_and_slices=["5 2 0,3:-"], tensors=[tf.ones([3, 2])]
    )
    with tf.Session() as session:
        session.run(save)
    reader = tf.train.load_checkpoint(prefix)
    assert reader.read(["t"], ["5 2 1,2:0,2"])[0].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(tf.errors.DataLossError, match="6 of 10 elements"):
        reader.get_tensor("t")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[5, 2\].*\[4, 2\]"):
        reader.read(["t"], ["4 2 1,2:0,2"])


def test_variables_in_parts_are_restored_in_other_parts(tmp_path: Path, format_name: str) -> None:
    prefix = str(tmp_path / "m")
    values = {}
    for number in (3, 2, 5):
        with tf.Graph().as_default(), tf.Session() as session:
            for axis, dtype in ((0, tf.float32), (1, tf.bfloat16)):
                parts = tf.fixed_size_partitioner(number, axis)
                tf.get_variable(f"t{axis}", [5, 7], dtype, partitioner=parts)
            tf.get_variable("w", [4, 2], tf.float32, partitioner=tf.fixed_size_partitioner(1))
            saver = tf.train.Saver()
            if values:
                saver.restore(session, prefix)
            else:
                session.run(tf.global_variables_initializer())
                saver.save(session, prefix)
            for axis in (0, 1):
                pieces = [v for v in tf.global_variables() if v.op.name.startswith(f"t{axis}/")]
                joined = tf.cast(tf.concat([p.value() for p in pieces], axis), tf.float32)
                value = session.run(joined)
                np.testing.assert_array_equal(value, values.setdefault(axis, value))
    assert dict(tf.train.list_variables(prefix)) == {"t0": [5, 7], "t1": [5, 7], "w": [4, 2]}
    types = tf.train.load_checkpoint(prefix).get_variable_to_dtype_map()
    assert types["t1"] == tf.bfloat16


def test_what_a_table_holds_is_saved(tmp_path: Path, format_name: str) -> None:
    for attempt in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
            second = tf.contrib.lookup.MutableHashTable(
                tf.int64, tf.float32, [0.0, 0.0], name="words"
            )
            unsaved = tf.contrib.lookup.MutableHashTable(
                tf.string, tf.int64, -1, name="unsaved", checkpoint=False
            )
            found = [
                table.lookup(tf.constant(["a", "b", "c"])),
                second.lookup(tf.constant([[5]], tf.int64)),
                unsaved.size(),
            ]
            saver = tf.train.Saver()
            if attempt:
                session.run(table.insert(["b", "c"], tf.constant([8, 9], tf.int64)))
                saver.restore(session, str(tmp_path / "m"))
                first, pairs, size = session.run(found)
                assert first.tolist() == [1, 2, -1]
                assert pairs.tolist() == [[[1, 2]]]
                assert size == 0
                continue
            session.run(table.insert(["a", "b"], tf.constant([1, 2], tf.int64)))
            session.run(second.insert([5], [[1.0, 2.0]]))
            session.run(unsaved.insert(["a"], tf.constant([1], tf.int64)))
            prefix = saver.save(session, str(tmp_path / "m"))
    assert sorted(dict(tf.train.list_variables(prefix))) == [
        "words-keys",
        "words-values",
        "words_1-keys",
        "words_1-values",
    ]


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, format_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    saver = tf.train.Saver()
    with initialized(tf.Session()) as session:
        prefix = str(saver.save(session, str(tmp_path / "m")))
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
        session.run(v.assign([3.0, 4.0]))
        sync, calls = os.fsync, []

        def full(descriptor: int) -> None:
            """The last of the files does not fit."""
            calls.append(descriptor)
            if len(calls) == (2 if format_name == "tensorflow" else 1):
                raise OSError(28, "No space left on device")
            sync(descriptor)

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            saver.save(session, prefix)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_both_files_are_whole_before_either_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose("tensorflow")
    tf.get_variable("v", initializer=[1.0, 2.0])
    seen = []
    move = os.replace

    def replace(source: str, path: str) -> None:
        name = os.path.basename(path)
        seen.append((name, sum(n.endswith(".tmp") for n in os.listdir(tmp_path))))
        move(source, path)

    with initialized(tf.Session()) as session:
        monkeypatch.setattr("os.replace", replace)
        tf.train.Saver().save(session, str(tmp_path / "m"), write_state=False)
    assert seen == [("m.data-00000-of-00001", 2), ("m.index", 1), ("m.meta", 1)]


SAVE_FOR_EVER = """
import sys
import numpy as np
import dataflow
dataflow.as_tensorflow()
import tensorflow as tf
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


def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
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
            assert process.stdout is not None
            for _ in range(3):
                assert process.stdout.readline()
            time.sleep(0.003 * attempt)
            process.send_signal(signal.SIGKILL)
        prefix = tf.train.latest_checkpoint(folder)
        assert prefix is not None
        assert os.path.exists(prefix + ".index")
        assert os.path.exists(prefix + ".meta")
        value = tf.train.load_variable(prefix, "v")
        np.testing.assert_array_equal(value, np.full(200_000, int(prefix.rpartition("-")[2]) + 1))


def test_version_1_is_not_written_and_each_save_says_so(
    tmp_path: Path, format_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
    with initialized(tf.Session()) as session:
        prefix = str(saver.save(session, str(tmp_path / "m")))
    assert "V1 checkpoint format has been deprecated" in caplog.text
    assert tf.train.load_variable(prefix, "v") == 1.0
    assert saver.as_saver_def().version == tf.train.SaverDef.V2


def test_sessions_that_save_themselves_write_the_format(tmp_path: Path, format_name: str) -> None:
    step = tf.train.get_or_create_global_step()
    count = tf.assign_add(step, 1)
    for expected in (3, 6):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), save_summaries_steps=None, save_checkpoint_secs=60
        ) as session:
            for _ in range(3):
                result = session.run(count)
        assert result == expected
    ending = ".safetensors" if format_name == "safetensors" else ".index"
    assert (tmp_path / f"model.ckpt-6{ending}").exists()


def test_saved_models_are_tensorflows_whatever_the_format(tmp_path: Path, format_name: str) -> None:
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = x * tf.get_variable("w", initializer=3.0)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "s"), {"x": x}, {"y": y})
        older = str(tmp_path / "older")
        tf.train.Saver().save(session, older, write_meta_graph=False, write_state=False)
    variables = tmp_path / "s" / "variables"
    assert names_in(variables) == bundle("variables")
    assert tf.config.experimental.get_checkpoint_format() == format_name
    if format_name == "safetensors":  # as SavedModels were written before
        for file in variables.iterdir():
            file.unlink()
        (tmp_path / "older.safetensors").rename(variables / "variables.safetensors")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path / "s"))
        assert session.run("w:0") == 3
