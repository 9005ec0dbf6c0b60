"""`tf.keras.callbacks.TensorBoard`: histograms, gradients, pictures and embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import dataflow as tf

layers = tf.keras.layers
pytestmark = pytest.mark.usefixtures("new_keras_session")


X = np.random.RandomState(0).rand(20, 6, 6, 2)
Y = X.mean((1, 2))


def _model() -> tf.keras.Model:
    model = tf.keras.Sequential(
        [
            layers.Conv2D(3, 3, input_shape=(6, 6, 2), name="conv"),
            layers.GlobalAveragePooling2D(name="pool"),
            layers.Dense(2, name="dense"),
        ]
    )
    model.compile("sgd", "mse")
    return model


def _written(folder: Path) -> dict[str, list[Any]]:
    """The values of each tag, by step."""
    found: dict[str, list[Any]] = {}
    (path,) = folder.glob("events*")
    for event in tf.train.summary_iterator(str(path)):
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value))
    return found


def test_histograms_gradients_and_pictures(tmp_path: Path) -> None:
    callback = tf.keras.callbacks.TensorBoard(
        tmp_path, histogram_freq=2, batch_size=4, write_grads=True, write_images=True
    )
    model = _model()
    model.fit(X, Y, epochs=3, validation_data=(X, Y), callbacks=[callback], verbose=0)
    found = _written(tmp_path)
    assert [step for step, _ in found["epoch_loss"]] == [0, 1, 2]
    names = ["conv/kernel_0", "conv/kernel_0_grad", "dense/bias_0_grad", "conv_out", "dense_out"]
    for name in names:
        assert [step for step, _ in found[name]] == [0, 2], name
    assert found["conv_out"][0][1].histo.num == 4 * 4 * 4 * 3
    pictures = [tag for tag in found if "/image" in tag]
    sizes = [(found[t][0][1].image.height, found[t][0][1].image.width) for t in sorted(pictures)]
    assert (2, 3) in sizes  # the kernel of dense, drawn lying
    assert not any(tag.startswith("conv/kernel_0/image") for tag in found)  # four axes


def test_without_data_to_validate_on_there_are_the_weights(tmp_path: Path) -> None:
    callback = tf.keras.callbacks.TensorBoard(tmp_path, histogram_freq=1, write_grads=True)
    _model().fit(X, Y, callbacks=[callback], verbose=0)
    found = _written(tmp_path)
    assert "dense/kernel_0" in found and "dense_out" not in found


def test_embeddings_are_saved_for_the_projector(tmp_path: Path) -> None:
    model = tf.keras.Sequential(
        [layers.Embedding(5, 3, input_length=2, name="words"), layers.Flatten(), layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    words = np.array([[0, 1], [2, 3], [4, 0]])
    callback = tf.keras.callbacks.TensorBoard(
        tmp_path,
        embeddings_freq=2,
        embeddings_data=words,
        embeddings_metadata="words.tsv",
        batch_size=2,
    )
    model.fit(words, np.zeros((3, 1)), epochs=3, callbacks=[callback], verbose=0)
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "words_embedding:0"' in config and "words.tsv" in config
    path = str(tmp_path / "keras_embedding.ckpt-2")
    saved = tf.train.load_checkpoint(path).get_tensor("words_embedding")
    inner = tf.keras.backend.function([model.input], [model.layers[0].output])([words])[0]
    np.testing.assert_allclose(saved, inner.reshape(3, 6))
    assert (tmp_path / "keras_embedding.ckpt-0.meta").exists()
    assert not (tmp_path / "keras_embedding.ckpt-1.meta").exists()


def test_batches_count_from_zero_over_all_epochs(tmp_path: Path) -> None:
    callback = tf.keras.callbacks.TensorBoard(tmp_path, update_freq="batch")
    callback.writer = mock.Mock()
    for batch in (0, 1, 0, 1):
        callback.on_batch_end(batch, {"acc": batch, "size": 8})
    callback.on_epoch_end(0, {"acc": 1.0})
    steps = [call.args[1] for call in callback.writer.add_summary.call_args_list]
    tags = [call.args[0].value[0].tag for call in callback.writer.add_summary.call_args_list]
    assert steps == [0, 1, 2, 3, 0] and tags == ["batch_acc"] * 4 + ["epoch_acc"]


def test_a_callback_of_a_library_writes_numbers_of_its_own(tmp_path: Path) -> None:
    class Own(tf.keras.callbacks.TensorBoard):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self._write_custom_summaries(epoch + 5, {"own": np.float32(epoch)})

    _model().fit(X, Y, epochs=2, callbacks=[Own(tmp_path)], verbose=0)
    found = [(step, value.simple_value) for step, value in _written(tmp_path)["own"]]
    assert found == [(5, 0.0), (6, 1.0)]
