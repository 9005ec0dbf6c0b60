"""Device names: parsed, merged, and refused with the part that is wrong."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.device_spec import canonical_name, merge_names


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/cpu:0", "/device:CPU:0"),
        ("/gpu:1", "/device:GPU:1"),
        ("/device:GPU:2", "/device:GPU:2"),
        ("/job:ps/task:0", "/job:ps/task:0"),
        ("/job:worker/replica:0/task:7/gpu:0", "/job:worker/replica:0/task:7/device:GPU:0"),
        ("", ""),
        ("/device:CPU:*", "/device:CPU:*"),
        ("/job:localhost/device:XLA_GPU:0", "/job:localhost/device:XLA_GPU:0"),
        (":/cpu:0", "/device:CPU:0"),  # as TensorFlow 1.15: a part without a name is passed over
    ],
)
def test_canonical_names(text: str, canonical: str) -> None:
    assert canonical_name(text) == canonical


def test_the_inner_name_wins() -> None:
    assert merge_names("/job:ps/task:0/cpu:0", "/task:3") == "/job:ps/task:3/device:CPU:0"


def test_a_wrong_part_is_named() -> None:
    with pytest.raises(ValueError, match="jbo:ps"):
        canonical_name("/jbo:ps/task:0")
    with pytest.raises(ValueError, match="task:x"):
        canonical_name("/task:x")
    with pytest.raises(ValueError, match="Multiple device types"):
        canonical_name("/cpu:0/gpu:1")


def test_fields() -> None:
    spec = tf.DeviceSpec.from_string("/job:worker/task:7/device:GPU:0")
    assert (spec.job, spec.task, spec.device_type, spec.device_index) == ("worker", 7, "GPU", 0)
    spec.merge_from(tf.DeviceSpec(task=8))
    assert spec.to_string() == "/job:worker/task:8/device:GPU:0"
