"""`multi_gpu_model` on a machine with two GPUs, played by fake ones, and on one with none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf


def test_parts_of_a_batch_are_joined_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataflow.runtime import devices

    names = ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]
    monkeypatch.setattr(
        devices, "list_local_devices", lambda: [SimpleNamespace(name=n) for n in names]
    )
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        tf.keras.backend.set_session(session)
        one = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        both = tf.keras.utils.multi_gpu_model(one, gpus=2)
        x = np.random.default_rng(0).random((5, 3)).astype("f")
        np.testing.assert_allclose(both.predict(x), one.predict(x), rtol=1e-6)
        assert len(both.get_weights()) == 2
        devices = {op.device for op in tf.get_default_graph().operations if op.type == "MatMul"}
        assert {d.rpartition("device:")[2].lower() for d in devices} >= {"gpu:0", "gpu:1"}


def test_gpus_that_are_not_there_are_refused() -> None:
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        with pytest.raises(ValueError, match="gpus >= 2"):
            tf.keras.utils.multi_gpu_model(model, gpus=1)
        with pytest.raises(ValueError, match="devices /gpu:7 and so on must be there"):
            tf.keras.utils.multi_gpu_model(model, gpus=[7, 8])
