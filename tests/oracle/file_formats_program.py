"""Runs under TensorFlow: writes files for dataflow to read, or reports what it reads of dataflow's.

    python file_formats_program.py write FOLDER
    python file_formats_program.py read FOLDER      (JSON on standard output)

``write`` also made the small files in tests/formats/tensorflow_files.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_resource_variables()

COMPRESSIONS = ("", "GZIP", "ZLIB")
RECORDS = [b"", b"first", bytes(range(256)) * 3, b"\xff" * 1000]


def write(folder: Path) -> None:
    write_checkpoint(folder / "model.ckpt")
    for compression in COMPRESSIONS:
        path = str(folder / f"records{compression.lower()}.tfrecord")
        with tf.python_io.TFRecordWriter(path, options=compression) as writer:
            for record in RECORDS:
                writer.write(record)
    example, sequence = make_examples()
    with tf.python_io.TFRecordWriter(str(folder / "examples.tfrecord")) as writer:
        writer.write(example.SerializeToString(deterministic=True))
        writer.write(sequence.SerializeToString(deterministic=True))


def write_checkpoint(prefix: Path) -> None:
    """Every dtype, a scalar, an empty tensor, strings, and variables in parts of both axes."""
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype in (np.float16, np.float64, np.complex64, np.complex128, np.int8, np.int16):
            tf.Variable(np.arange(6).reshape(2, 3).astype(dtype), name=np.dtype(dtype).name)
        for dtype in (np.int32, np.int64, np.uint8, np.uint16, np.float32):
            tf.Variable(np.array([0, 1, 100], dtype), name=np.dtype(dtype).name)
        tf.Variable([True, False], name="bool")
        tf.Variable(tf.cast([1.0, -2.5, 3.140625], tf.bfloat16), name="bfloat16")
        tf.Variable([[b"", b"a\0b"], ["clich\u00e9".encode(), b"x" * 300]], name="string")
        tf.Variable(7, name="scope/scalar")
        tf.Variable(np.zeros((0, 4), np.float32), name="empty")
        for axis, shape in ((0, (130, 2)), (1, (2, 7))):
            whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            tf.get_variable(
                f"parts_{axis}",
                shape,
                initializer=part_of(whole),
                partitioner=tf.fixed_size_partitioner(3, axis=axis),
            )
        # Enough names that the index has more than one restart.
        for i in range(40):
            tf.Variable(np.float32(i), name=f"many/layer_{i}/weights")
        session.run(tf.global_variables_initializer())
        tf.train.Saver(tf.global_variables()).save(
            session, str(prefix), global_step=12, write_meta_graph=False
        )


def part_of(whole: np.ndarray) -> Any:
    """An initializer that gives each partition its part of ``whole``."""

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> np.ndarray:
        starts = partition_info.var_offset
        return whole[tuple(slice(s, s + n) for s, n in zip(starts, shape, strict=True))]

    return initializer


def make_examples() -> tuple[tf.train.Example, tf.train.SequenceExample]:
    def ints(*values: int) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    context = {
        "label": ints(-1, 0, 127, 128, 2**62, -(2**63)),
        "pixels": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -1e30])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a\0", b""])),
        "nothing": tf.train.Feature(),
        "no numbers": ints(),
    }
    steps = tf.train.FeatureList(feature=[ints(1, 2), ints(3)])
    return (
        tf.train.Example(features=tf.train.Features(feature=context)),
        tf.train.SequenceExample(
            context=tf.train.Features(feature=context),
            feature_lists=tf.train.FeatureLists(feature_list={"steps": steps}),
        ),
    )


def read(folder: Path) -> dict:
    report: dict = {"records": {}, "events": []}
    for compression in COMPRESSIONS:
        path = str(folder / f"records{compression.lower()}.tfrecord")
        options = tf.python_io.TFRecordOptions({"": 0, "ZLIB": 1, "GZIP": 2}[compression])
        report["records"][compression] = [
            record.hex() for record in tf.python_io.tf_record_iterator(path, options)
        ]
    example, sequence = tf.python_io.tf_record_iterator(str(folder / "examples.tfrecord"))
    theirs = make_examples()
    report["examples_equal"] = [
        tf.train.Example.FromString(example) == theirs[0],
        tf.train.SequenceExample.FromString(sequence) == theirs[1],
    ]
    state = tf.train.get_checkpoint_state(str(folder))
    report["state"] = {
        "latest": state.model_checkpoint_path,
        "all": list(state.all_model_checkpoint_paths),
        "times": list(state.all_model_checkpoint_timestamps),
    }
    events = [p for p in sorted(folder.iterdir()) if "tfevents" in p.name]
    for event in tf.train.summary_iterator(str(events[0])):
        for value in event.summary.value:
            report["events"].append([event.step, value.tag, value.WhichOneof("value")])
    report["summaries"] = summaries()
    return report


def summary_inputs() -> dict[str, np.ndarray]:
    """The arrays that both sides summarize; the test has the same."""
    rng = np.random.RandomState(0)
    return {
        "histogram": np.concatenate((rng.randn(200) * 3, [0.0, 0.0, 1e-13, -1e21, 2.0])),
        "positive image": rng.rand(2, 3, 4, 3).astype(np.float32) * 3,
        "signed image": rng.randn(1, 3, 4, 1).astype(np.float32),
        "byte image": rng.randint(0, 256, (1, 3, 4, 4)).astype(np.uint8),
        "bad image": np.array([[[[np.nan], [1.0], [0.5]]]], np.float32),
        "audio": np.clip(rng.randn(1, 50, 2), -1.5, 1.5).astype(np.float32),
    }


def summaries() -> dict:
    """TensorFlow's own summaries of `summary_inputs`, as hexadecimal serialized messages."""
    inputs = summary_inputs()
    with tf.Graph().as_default(), tf.Session() as session:
        nodes = {
            "scalar": tf.summary.scalar("loss", 0.25),
            "histogram": tf.summary.histogram("histogram", inputs["histogram"]),
            "audio": tf.summary.audio("audio", inputs["audio"], 8000.0),
            "text": tf.summary.text("text", tf.constant([["a", "b"]])),
        }
        for name in ("positive", "signed", "byte", "bad"):
            key = f"{name} image"
            nodes[key] = tf.summary.image(f"{name}_image", inputs[key], max_outputs=2)
        return {name: session.run(node).hex() for name, node in nodes.items()}


if __name__ == "__main__":
    command, where = sys.argv[1], Path(sys.argv[2])
    if command == "write":
        write(where)
    else:
        print(json.dumps(read(where)))
