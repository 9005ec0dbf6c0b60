"""Callbacks see, stop, save and slow down training."""

from __future__ import annotations

import csv
import os
import re

import numpy as np
import pytest

import dataflow as tf

keras = tf.keras
X = np.linspace(-1, 1, 32, dtype="float32")[:, None]
Y = 2 * X + 1


@pytest.fixture
def model():
    keras.backend.clear_session()
    tf.set_random_seed(0)
    made = keras.Sequential([keras.layers.Dense(1, input_dim=1)])
    made.compile(keras.optimizers.SGD(0.1), "mse")
    yield made
    keras.backend.clear_session()


def test_early_stopping_stops_and_restores(model):
    stop = keras.callbacks.EarlyStopping("loss", min_delta=100.0, patience=2)
    assert len(model.fit(X, Y, epochs=20, verbose=0, callbacks=[stop]).epoch) == 3


def test_schedule_and_plateau_change_the_rate(model):
    schedule = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    history = model.fit(X, Y, epochs=2, verbose=0, callbacks=[schedule]).history
    np.testing.assert_allclose(history["lr"], [0.1, 0.05], rtol=1e-6)
    plateau = keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=100.0)
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[plateau])
    np.testing.assert_allclose(keras.backend.get_value(model.optimizer.lr), 0.0125, rtol=1e-5)


def test_files_are_written(model, tmp_path):
    log, best = tmp_path / "log.csv", tmp_path / "best-{epoch:02d}"
    callbacks = [
        keras.callbacks.CSVLogger(log),
        keras.callbacks.ModelCheckpoint(best, monitor="val_loss", save_best_only=True),
        keras.callbacks.TensorBoard(tmp_path / "events"),
    ]
    model.fit(X, Y, epochs=2, verbose=0, callbacks=callbacks, validation_data=(X, Y))
    rows = list(csv.DictReader(log.read_text().splitlines()))
    assert [r["epoch"] for r in rows] == ["0", "1"]
    loaded = keras.models.load_model(tmp_path / "best-02")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    (events,) = (tmp_path / "events").iterdir()
    assert b"epoch_val_loss" in events.read_bytes()


def test_events_come_in_order(model):
    seen = []

    class Spy(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            seen.append("train")

        def on_epoch_begin(self, epoch, logs=None):
            seen.append(f"epoch {epoch}")

        def on_batch_end(self, batch, logs=None):
            assert logs["loss"] > 0
            seen.append(batch)

        def on_epoch_end(self, epoch, logs=None):
            seen.append("end")

    model.fit(X, Y, epochs=2, batch_size=16, verbose=0, callbacks=[Spy()])
    assert seen == ["train", "epoch 0", 0, 1, "end", "epoch 1", 0, 1, "end"]


def test_verbose_two_prints_a_line_for_each_epoch(model, capsys):
    model.fit(X, Y, epochs=2, verbose=2)
    out = capsys.readouterr().out
    assert "Epoch 2/2" in out
    assert out.count("loss: ") == 2


def test_what_is_printed_are_the_lines_of_1_15(model, capsys):
    def lines(train):
        train()
        out = capsys.readouterr().out
        return re.sub(r"\d+s|(?<=: )[\d.e+-]+", "#", out).splitlines()

    rows = len(X)
    model.fit(X, Y, verbose=0)
    assert lines(lambda: model.fit(X, Y, verbose=2, validation_data=(X[:4], Y[:4]))) == [
        f"Train on {rows} samples, validate on 4 samples",
        f"{rows}/{rows} - # - loss: # - val_loss: #",
    ]
    batches = tf.data.Dataset.from_tensor_slices((X[:10], Y[:10])).batch(4)
    three = ["3/3 - # - loss: #"]
    assert lines(lambda: model.fit(batches, epochs=2, verbose=2)) == [
        "Train on 3 steps", "Epoch 1/2", *three, "Epoch 2/2", *three
    ]  # fmt: skip
    unknown = batches.filter(lambda x, y: True)
    assert lines(lambda: model.fit(unknown, verbose=2)) == ["Train on None steps", *three]

    def pairs():
        while True:
            yield X[:4], Y[:4]

    assert lines(lambda: model.fit_generator(pairs(), 3, verbose=2)) == three
    assert lines(lambda: model.evaluate(X, Y, verbose=2)) == [f"{rows}/{rows} - # - loss: #"]
    assert lines(lambda: model.evaluate(batches, steps=2, verbose=2)) == ["2/2 - # - loss: #"]


def test_the_bar_shows_how_long_a_sample_takes(model, capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    model.fit(X, Y)
    model.evaluate(X, Y)
    pattern = rf"{len(X)}/{len(X)} \[={{30}}\] - \d+s \d+(u|m)?s/sample - loss: \d\S+"
    shown = capsys.readouterr().out.replace("\r", "\n").splitlines()
    assert [bool(re.fullmatch(pattern, line)) for line in shown if "[====" in line][-2:] == [
        True
    ] * 2


class _Stages(keras.callbacks.Callback):
    """Notes what it is told of evaluations and predictions."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_test_begin(self, logs=None):
        self.seen.append("test")

    def on_test_batch_begin(self, batch, logs=None):
        self.seen.append((batch, logs["size"]))

    def on_test_batch_end(self, batch, logs=None):
        assert logs["loss"] > 0

    def on_test_end(self, logs=None):
        self.seen.append("test ends")

    def on_predict_begin(self, logs=None):
        self.seen.append("predict")

    def on_predict_batch_end(self, batch, logs=None):
        self.seen.append(logs["outputs"][0].shape[0])

    def on_predict_end(self, logs=None):
        self.seen.append("predict ends")


def test_callbacks_are_told_of_evaluations_and_predictions(model):
    spy = _Stages()
    size = len(X) // 2
    model.evaluate(X, Y, batch_size=size, verbose=0, callbacks=[spy])
    assert spy.model is model
    assert spy.seen == ["test", (0, size), (1, size), "test ends"]
    spy.seen.clear()
    model.predict(X, batch_size=size, callbacks=spy)
    assert spy.seen == ["predict", size, size, "predict ends"]


def test_validations_of_a_fit_are_told_as_tests(model):
    spy = _Stages()
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[spy], validation_data=(X, Y), batch_size=len(X))
    assert spy.seen == ["test", (0, len(X)), "test ends"] * 2


def test_what_is_no_callback_is_refused_everywhere(model):
    for call in (model.evaluate, model.predict):
        with pytest.raises(TypeError, match=r"'spy' is not a tf\.keras\.callbacks\.Callback"):
            call(X, callbacks=["spy"])


def test_a_metric_of_several_values_is_printed_as_its_mean(capsys, monkeypatch):
    def errors(y_true, y_pred):
        return tf.constant([1.0, 2.0])

    made = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    made.compile(keras.optimizers.SGD(0.1), "mse", metrics=[errors])
    made.evaluate(np.ones([4, 2]), np.ones([4, 1]), verbose=2)
    assert "errors: 1.5000" in capsys.readouterr().out


def test_callbacks_see_numpys_numbers_which_print_as_pythons(model):
    seen = []

    class Seen(keras.callbacks.Callback):
        def on_batch_end(self, batch, logs):
            seen.append(logs["loss"])

    history = model.fit(X, Y, verbose=0, callbacks=[Seen()], validation_data=(X, Y)).history
    for value in (
        seen[0],
        history["loss"][0],
        history["val_loss"][0],
        model.evaluate(X, Y, verbose=0),
    ):
        assert isinstance(value, np.float64)
        assert value[()] == value.item() == float(value)
        assert repr([value]) == f"[{float(value)!r}]"


@pytest.mark.parametrize("kind", ["EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau"])
def test_an_unknown_mode_is_taken_as_auto(kind):
    arguments = ["file"] if kind == "ModelCheckpoint" else []
    with pytest.warns(UserWarning, match="mode 'best' is unknown"):
        callback = getattr(tf.keras.callbacks, kind)(*arguments, mode="best")
    assert callback.mode == "auto"


def test_the_older_name_of_min_delta():
    with pytest.warns(UserWarning, match="use `min_delta`"):
        assert tf.keras.callbacks.ReduceLROnPlateau(epsilon=1e-13).min_delta == 1e-13


def test_a_restart_takes_the_newest_file_of_the_pattern(model, tmp_path):
    pattern = str(tmp_path / "weights.{epoch:02d}.h5")
    x, y = np.ones((8, 1)), np.ones((8, 1))
    Checkpoint = tf.keras.callbacks.ModelCheckpoint
    model.fit(x, y, epochs=2, verbose=0, callbacks=[Checkpoint(pattern, save_weights_only=True)])
    kept = model.get_weights()
    for number, path in enumerate(sorted(tmp_path.iterdir())):
        os.utime(path, (number, number))
    (tmp_path / "other.h5").write_text("no weights")
    model.fit(x, y, epochs=1, verbose=0)
    again = Checkpoint(pattern, save_weights_only=True, load_weights_on_restart=True)
    again.set_model(model)
    again.on_train_begin()
    for one, other in zip(model.get_weights(), kept, strict=True):
        np.testing.assert_array_equal(one, other)


def test_data_that_ends_too_soon_ends_the_training(model):
    x, y = np.ones((20, 1), np.float32), np.ones((20, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(2)
    with pytest.warns(UserWarning, match=r"dataset ran out of data after 4 of 6 steps"):
        history = model.fit(dataset, epochs=5, steps_per_epoch=6, verbose=0)
    assert history.epoch == [0, 1] and len(history.history["loss"]) == 2
    pairs = ((x[:2], y[:2]) for _ in range(10))
    with pytest.warns(UserWarning, match=r"generator ran out of data after 0 of 5 steps"):
        history = model.fit_generator(pairs, epochs=5, steps_per_epoch=5, verbose=0)
    assert history.epoch == [0, 1, 2] and len(history.history["loss"]) == 2
    with (
        pytest.warns(UserWarning, match="ran out of data"),
        pytest.raises(ValueError, match="There was no batch"),
    ):
        model.fit(iter(()), steps_per_epoch=2, verbose=0)


def test_a_checkpoint_says_whether_a_value_became_better(tmp_path, capsys):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse")
    path = str(tmp_path / "best.h5")
    best = keras.callbacks.ModelCheckpoint(
        path, monitor="loss", verbose=1, save_best_only=True, save_weights_only=True
    )
    best.set_model(model)
    best.on_train_begin()
    for epoch, loss in enumerate([0.5, 0.75]):
        best.on_epoch_end(epoch, {"loss": loss})
    assert capsys.readouterr().out.split("\n") == [
        "",
        f"Epoch 00001: loss improved from inf to 0.50000, saving model to {path}",
        "",
        "Epoch 00002: loss did not improve from 0.50000",
        "",
    ]
