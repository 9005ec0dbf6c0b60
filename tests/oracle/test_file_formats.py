"""Files that TensorFlow writes are read here, and files written here are read by TensorFlow."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats import example_protos, summary_protos
from dataflow.formats.checkpoint_state import (
    CheckpointState,
    read_checkpoint_state,
    write_checkpoint_state,
)
from dataflow.formats.event_files import EventFileWriter
from dataflow.formats.record_files import TFRecordWriter, tf_record_iterator
from dataflow.formats.tensor_bundle import TensorBundleReader

pytestmark = pytest.mark.oracle
PROGRAM = Path(__file__).with_name("file_formats_program.py")


def tensorflow(*arguments: str) -> str:
    python = os.environ.get("DATAFLOW_ORACLE_PYTHON")
    if not python:
        pytest.skip("DATAFLOW_ORACLE_PYTHON does not name a Python with TensorFlow (make oracle)")
    done = subprocess.run(
        [python, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def program() -> Any:
    """The program's data, without its TensorFlow."""
    spec = importlib.util.spec_from_file_location("file_formats_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    fake = types.ModuleType("tensorflow.compat.v1")
    fake.disable_v2_behavior = fake.disable_resource_variables = lambda: None  # type: ignore[attr-defined]
    fake.train = example_protos  # type: ignore[attr-defined]
    packages = {name: types.ModuleType(name) for name in ("tensorflow", "tensorflow.compat")}
    packages["tensorflow.compat"].v1 = fake  # type: ignore[attr-defined]
    packages["tensorflow"].compat = packages["tensorflow.compat"]  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        for name, part in {**packages, "tensorflow.compat.v1": fake}.items():
            patch.setitem(sys.modules, name, part)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def written_by_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tensorflow")
    tensorflow("write", str(folder))
    return folder


@pytest.fixture(scope="module")
def read_by_tensorflow(tmp_path_factory: pytest.TempPathFactory, program: Any) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("dataflow")
    for compression in program.COMPRESSIONS:
        path = folder / f"records{compression.lower()}.tfrecord"
        with TFRecordWriter(path, compression) as writer:
            for record in program.RECORDS:
                writer.write(record)
    with TFRecordWriter(folder / "examples.tfrecord") as writer:
        for message in program.make_examples():
            writer.write(message.SerializeToString())
    paths = [str(folder / 'a "quoted" é-1'), str(folder / "model-2")]
    write_checkpoint_state(folder, CheckpointState(paths[1], paths, [1.5, 2e9]))
    with EventFileWriter(folder) as events:
        events.add_summary(summary_protos.scalar_summary("loss", 0.5), 3)
        events.add_summary(summary_protos.histogram_summary("h", [1, 2]).SerializeToString(), 4)
        events.add_session_log("STOP", 5)
    report: dict[str, Any] = json.loads(tensorflow("read", str(folder)))
    report["folder"] = folder
    report["paths"] = paths
    return report


def test_checkpoint(written_by_tensorflow: Path) -> None:
    state = read_checkpoint_state(written_by_tensorflow)
    assert state is not None
    assert state.model_checkpoint_path == str(written_by_tensorflow / "model.ckpt-12")
    reader = TensorBundleReader(state.model_checkpoint_path)
    whole = np.arange(260, dtype=np.float32).reshape(130, 2)
    assert np.array_equal(reader.get_tensor("parts_0"), whole)
    assert len(reader) == 58
    for name in reader:
        assert list(reader.get_tensor(name).shape) == reader.get_variable_to_shape_map()[name]


def test_records(written_by_tensorflow: Path, program: Any) -> None:
    for compression in program.COMPRESSIONS:
        path = written_by_tensorflow / f"records{compression.lower()}.tfrecord"
        assert list(tf_record_iterator(path, compression)) == program.RECORDS


def test_examples(written_by_tensorflow: Path, program: Any) -> None:
    records = list(tf_record_iterator(written_by_tensorflow / "examples.tfrecord"))
    assert records == [m.SerializeToString(deterministic=True) for m in program.make_examples()]


def test_tensorflow_reads_records_and_examples(
    read_by_tensorflow: dict[str, Any], program: Any
) -> None:
    expected = [record.hex() for record in program.RECORDS]
    assert read_by_tensorflow["records"] == dict.fromkeys(program.COMPRESSIONS, expected)
    assert read_by_tensorflow["examples_equal"] == [True, True]


def test_tensorflow_reads_the_checkpoint_state(read_by_tensorflow: dict[str, Any]) -> None:
    paths = read_by_tensorflow["paths"]
    assert read_by_tensorflow["state"] == {"latest": paths[1], "all": paths, "times": [1.5, 2e9]}


def test_tensorflow_reads_events(read_by_tensorflow: dict[str, Any]) -> None:
    assert read_by_tensorflow["events"] == [[3, "loss", "simple_value"], [4, "h", "histo"]]


def test_summaries_are_tensorflows(read_by_tensorflow: dict[str, Any], program: Any) -> None:
    inputs = program.summary_inputs()
    with tf.Graph().as_default(), tf.Session() as session:
        text = session.run(tf.summary.text("text", tf.constant([["a", "b"]])))
    ours = {
        "scalar": summary_protos.scalar_summary("loss", 0.25),
        "histogram": summary_protos.histogram_summary("histogram", inputs["histogram"]),
        "audio": summary_protos.audio_summary("audio", inputs["audio"], 8000.0),
        "text": summary_protos.parse_summary(text),
    }
    for name in ("positive", "signed", "byte", "bad"):
        key = f"{name} image"
        ours[key] = summary_protos.image_summary(f"{name}_image", inputs[key], max_outputs=2)
    theirs = read_by_tensorflow["summaries"]
    assert set(ours) == set(theirs)
    for name, mine in ours.items():
        other = type(mine).FromString(bytes.fromhex(theirs[name]))
        if "image" in name:
            _same_pixels(mine, other)
        if name == "histogram":  # the sums are taken in another order
            for field in ("sum", "sum_squares"):
                a, b = (getattr(s.value[0].histo, field) for s in (mine, other))
                assert a == pytest.approx(b, rel=1e-12)
                setattr(mine.value[0].histo, field, b)
        for value in other.value:  # names of displays are for TensorBoard's old plugins
            if value.HasField("metadata"):
                value.metadata.ClearField("display_name")
        assert mine == other, name


def _same_pixels(mine: Any, other: Any) -> None:
    """PNG encoders differ; what they decode to must not."""
    from PIL import Image

    for one, two in zip(mine.value, other.value, strict=True):
        pixels = [
            np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
            for value in (one, two)
        ]
        assert np.array_equal(*pixels), one.tag
        one.image.encoded_image_string = two.image.encoded_image_string
