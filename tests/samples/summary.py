"""Samples of summaries: the message, parsed back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.base import Sample

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


SAMPLES = [
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
