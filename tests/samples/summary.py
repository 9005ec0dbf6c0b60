"""Samples of summaries: the message, parsed back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.samples.base import Sample
from tests.samples.control_flow import raw

VALUES = np.array([1.0, 2.0, 2.0, -5.0], np.float32)
PICTURES = (np.arange(24).reshape(2, 2, 2, 3) * 10).astype(np.uint8)
SOUND = np.array([[0.0, 0.5, -0.5, 1.0]], np.float32)


def values_of(tf: Any, summary: Any, read: Any) -> Any:
    """What ``read`` takes out of the parsed message, as a float32 tensor of rank 1."""

    def parse(serialized: bytes) -> Any:
        from tensorboard.compat.proto.summary_pb2 import Summary

        return np.array(read(Summary.FromString(serialized).value), np.float32)

    result = tf.py_func(parse, [summary], tf.float32)
    result.set_shape([None])
    return result


def sample(op: str, build: Any, read: Any, inputs: Any, expected: Any, **more: Any) -> Sample:
    return Sample(
        op,
        lambda tf, *tensors: values_of(tf, build(tf, *tensors), read),
        inputs,
        expected,
        gradient=(),
        **more,
    )


def old_audio(tf: Any, sound: Any) -> Any:
    from dataflow.ops.summary import audio_summary_op

    return audio_summary_op("sound", sound, sample_rate=8000.0)


def old_tensor(tf: Any, values: Any) -> Any:
    from dataflow.ops.summary import tensor_summary_op

    return tensor_summary_op(values)


def content(values: Any) -> Any:
    return np.frombuffer(values[0].tensor.tensor_content, np.float32)


def two_scalars(tf: Any, x: Any) -> Any:
    return tf.summary.merge([tf.summary.scalar("a", x[0]), tf.summary.scalar("b", x[3])])


def written(tf: Any, x: Any) -> Any:
    """The steps and kinds of the events that the ops of a writer wrote, one after the other."""
    folder = Path(tempfile.mkdtemp())
    writer = raw(tf, "SummaryWriter", shared_name="sample_writer")
    step = tf.constant(7, tf.int64)
    common = {"writer": writer, "step": step}
    summary = b"\x0a\x08\x0a\x01a\x15\x00\x00\x80\x3f"  # value { tag: "a", simple_value: 1 }
    sounds = {"tensor": tf.expand_dims(x, 0), "sample_rate": 8000.0}
    pictures = {"tensor": tf.reshape(x, [1, 2, 2, 1]), "bad_color": np.zeros(4, np.uint8)}
    steps: list[tuple[str, dict[str, Any]]] = [
        (
            "CreateSummaryFileWriter",
            {
                "writer": writer,
                "logdir": str(folder),
                "max_queue": 10,
                "flush_millis": 1000,
                "filename_suffix": ".v2",
            },
        ),
        ("WriteScalarSummary", {**common, "tag": "s", "value": x[3]}),
        ("WriteHistogramSummary", {**common, "tag": "h", "values": x}),
        ("WriteImageSummary", {**common, "tag": "i", **pictures}),
        ("WriteAudioSummary", {**common, "tag": "a", **sounds}),
        ("WriteSummary", {**common, "tensor": x, "tag": "t", "summary_metadata": ""}),
        ("WriteRawProtoSummary", {**common, "tensor": summary}),
        ("WriteGraphSummary", {**common, "tensor": b"\x22\x00"}),
        ("ImportEvent", {"writer": writer, "event": b"\x10\x09" + b"\x2a\x0a" + summary}),
        ("FlushSummaryWriter", {"writer": writer}),
        ("CloseSummaryWriter", {"writer": writer}),
    ]
    done: list[Any] = []
    for op_type, arguments in steps:
        with tf.control_dependencies(done):
            done = [raw(tf, op_type, **arguments)]

    def read() -> Any:
        (path,) = folder.iterdir()
        found = []
        for event in list(tf.train.summary_iterator(str(path)))[1:]:
            kinds = [v.WhichOneof("value") for v in event.summary.value] or [
                event.WhichOneof("what")
            ]
            found += [f"{event.step} {kind}".encode() for kind in kinds]
        path.unlink()
        return np.array(found, object)

    with tf.control_dependencies(done):
        return tf.py_func(read, [], tf.string)


WRITTEN = [
    *("7 simple_value", "7 histo", "7 image", "7 audio", "7 tensor", "7 simple_value"),
    *("7 graph_def", "9 simple_value"),
]

SAMPLES = [
    *[
        Sample(op, written, (VALUES,), np.array([w.encode() for w in WRITTEN], object), gradient=())
        for op in (
            "SummaryWriter",
            "CreateSummaryFileWriter",
            "WriteScalarSummary",
            "WriteHistogramSummary",
            "WriteImageSummary",
            "WriteAudioSummary",
            "WriteSummary",
            "WriteRawProtoSummary",
            "WriteGraphSummary",
            "ImportEvent",
            "FlushSummaryWriter",
            "CloseSummaryWriter",
        )
    ],
    sample(
        "ScalarSummary",
        lambda tf, x: tf.summary.scalar("loss", x[3]),
        lambda v: [len(v), v[0].tag == "loss", v[0].simple_value],
        (VALUES,),
        np.array([1, 1, -5], np.float32),
    ),
    sample(
        "HistogramSummary",
        lambda tf, x: tf.summary.histogram("weights", x),
        lambda v: [v[0].histo.num, v[0].histo.min, v[0].histo.max, sum(v[0].histo.bucket)],
        (VALUES,),
        np.array([4, -5, 2, 4], np.float32),
    ),
    sample(
        "ImageSummary",
        lambda tf, x: tf.summary.image("picture", x),
        lambda v: [len(v), v[1].image.height, v[1].image.width, v[1].image.colorspace],
        (PICTURES,),
        np.array([2, 2, 2, 3], np.float32),
    ),
    sample(
        "AudioSummaryV2",
        lambda tf, x: tf.summary.audio("sound", x, 8000.0),
        lambda v: [len(v), v[0].audio.sample_rate, v[0].audio.length_frames],
        (SOUND,),
        np.array([1, 8000, 4], np.float32),
    ),
    sample(
        "AudioSummary",
        old_audio,
        lambda v: [len(v), v[0].audio.sample_rate, v[0].audio.length_frames],
        (SOUND,),
        np.array([1, 8000, 4], np.float32),
        oracle=False,
        note="built here",
    ),
    sample(
        "TensorSummaryV2",
        lambda tf, x: tf.summary.tensor_summary("whole", x),
        content,
        (VALUES,),
        VALUES,
    ),
    sample(
        "TensorSummary", old_tensor, content, (VALUES,), VALUES, oracle=False, note="built here"
    ),
    sample(
        "MergeSummary",
        two_scalars,
        lambda v: [part.simple_value for part in v],
        (VALUES,),
        np.array([1, -5], np.float32),
    ),
]
