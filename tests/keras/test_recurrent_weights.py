"""Files with the weights of CuDNN's recurrent layers, in plain layers and the other way round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytest.importorskip("h5py")
X = np.random.default_rng(0).random((2, 4, 3)).astype("f")


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("cudnn", "plain"),
    [
        ("CuDNNLSTM", {"name": "LSTM"}),
        ("CuDNNGRU", {"name": "GRU", "reset_after": True}),
    ],
)
def test_weights_of_one_form_are_loaded_into_the_other(
    cudnn: str, plain: dict[str, Any], both: bool, tmp_path: Path
) -> None:
    keras, plain = tf.keras.layers, dict(plain)

    def layers() -> list[Any]:
        kind = getattr(keras, plain["name"])
        rest = {k: v for k, v in plain.items() if k != "name"}
        made = [
            getattr(keras, cudnn)(5, bias_initializer="random_normal", input_shape=(4, 3)),
            kind(5, recurrent_activation="sigmoid", input_shape=(4, 3), **rest),
        ]
        return [keras.Bidirectional(x, input_shape=(4, 3)) for x in made] if both else made

    with tf.Graph().as_default(), tf.Session():
        fast, slow = (tf.keras.Sequential([x]) for x in layers())
        fast.save_weights(str(tmp_path / "fast.h5"))
        slow.load_weights(str(tmp_path / "fast.h5"))
        expected = fast.predict(X)
        np.testing.assert_allclose(slow.predict(X), expected, rtol=1e-5, atol=1e-6)
        slow.save_weights(str(tmp_path / "slow.h5"))
        fast.set_weights([np.zeros_like(w) for w in fast.get_weights()])
        fast.load_weights(str(tmp_path / "slow.h5"))
        np.testing.assert_allclose(fast.predict(X), expected, rtol=1e-5, atol=1e-6)
        fast.load_weights(str(tmp_path / "fast.h5"))
        np.testing.assert_allclose(fast.predict(X), expected, rtol=1e-5, atol=1e-6)


def test_files_hold_the_kernels_as_cudnn_does(tmp_path: Path) -> None:
    import h5py

    with tf.Graph().as_default(), tf.Session():
        fast = tf.keras.Sequential([tf.keras.layers.CuDNNLSTM(2, input_shape=(4, 3))])
        kernel, recurrent, _ = fast.get_weights()
        fast.save_weights(str(tmp_path / "fast.h5"))
    with h5py.File(tmp_path / "fast.h5") as file:
        group = file[next(iter(file))]
        held = [np.asarray(group[name]) for name in group.attrs["weight_names"]]
    # The input gate's kernel [3, 2]: its numbers are those of a matrix [2, 3], row by row.
    assert held[0][:, :2].reshape(2, 3).T.tolist() == kernel[:, :2].tolist()
    assert held[1][:, :2].T.tolist() == recurrent[:, :2].tolist()
