"""Images: files, changes that NumPy can check, folders that are learnt from."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytest.importorskip("PIL")
image = tf.keras.preprocessing.image
RNG = np.random.RandomState(0)


def test_a_file_comes_back(tmp_path):
    x = RNG.randint(0, 256, (5, 4, 3)).astype("float32")
    image.save_img(tmp_path / "a.png", x, scale=False)
    found = image.img_to_array(image.load_img(tmp_path / "a.png"))
    np.testing.assert_array_equal(found, x)
    small = image.load_img(tmp_path / "a.png", color_mode="grayscale", target_size=(2, 3))
    assert image.img_to_array(small).shape == (2, 3, 1)
    assert image.img_to_array(small, data_format="channels_first").shape == (1, 2, 3)
    assert image.img_to_array(image.array_to_img(x / 9)).max() == 255
    with pytest.raises(ValueError, match="rank 3"):
        image.array_to_img(x[0])


def changed(x, **settings):
    return image.ImageDataGenerator(**settings).random_transform(x)


def test_changes_are_what_they_are_called(monkeypatch):
    x = RNG.rand(6, 6, 2).astype("float32")
    monkeypatch.setattr(np.random, "random", lambda: 0.0)
    np.testing.assert_array_equal(changed(x, horizontal_flip=True), x[:, ::-1])
    np.testing.assert_array_equal(changed(x, vertical_flip=True), x[::-1])
    monkeypatch.setattr(np.random, "uniform", lambda low, high, size=None: high)
    down = changed(x, height_shift_range=2, fill_mode="nearest")
    np.testing.assert_allclose(down, x[[2, 3, 4, 5, 5, 5]], rtol=1e-6)
    zeros = changed(x, width_shift_range=0.5, fill_mode="constant", cval=7.0)
    np.testing.assert_allclose(zeros[:, :3], x[:, 3:], rtol=1e-6)
    assert (zeros[:, 3:] == 7).all()
    mirrored = changed(x, height_shift_range=2, fill_mode="reflect")
    np.testing.assert_allclose(mirrored, x[[2, 3, 4, 5, 5, 4]], rtol=1e-5)
    around = changed(x, height_shift_range=2, fill_mode="wrap")
    np.testing.assert_allclose(around, x[[2, 3, 4, 5, 0, 1]], rtol=1e-6)
    np.testing.assert_allclose(changed(x, rotation_range=90), np.rot90(x, -1), atol=1e-5)
    np.testing.assert_allclose(changed(x, brightness_range=(0.1, 0.5)), x * 0.5, rtol=1e-6)


def test_batches_are_standardized_and_repeat_with_their_seed():
    x = RNG.rand(10, 4, 4, 1) * 255
    make = image.ImageDataGenerator(
        featurewise_std_normalization=True, rotation_range=20, validation_split=0.3
    )
    with pytest.raises(ValueError, match="call .fit"):
        next(make.flow(x))
    make.fit(x)
    plain = image.ImageDataGenerator(featurewise_std_normalization=True)
    plain.fit(x)
    whole = next(plain.flow(x, batch_size=10))
    np.testing.assert_allclose([whole.mean(), whole.std()], [0, 1], atol=1e-4)
    one, two = (make.flow(x, np.arange(10), batch_size=4, seed=3) for _ in range(2))
    for _ in range(4):
        for a, b in zip(next(one), next(two), strict=True):
            np.testing.assert_array_equal(a, b)
    assert len(one) == 3
    held = make.flow(x, np.arange(10), subset="validation", batch_size=32, shuffle=False)
    assert next(held)[1].tolist() == [0, 1, 2]


def test_a_folder_is_learnt_from(tmp_path):
    for name, value in (("dark", 40), ("light", 200)):
        (tmp_path / name).mkdir()
        for i in range(8):
            image.save_img(
                tmp_path / name / f"{i}.png", value + RNG.rand(6, 6, 3) * 40, scale=False
            )
    make = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True, zoom_range=0.1)
    flow = make.flow_from_directory(tmp_path, (8, 8), class_mode="binary", batch_size=4, seed=0)
    assert flow.class_indices == {"dark": 0, "light": 1}
    assert (flow.samples, flow.num_classes) == (16, 2)
    tf.keras.backend.clear_session()
    tf.set_random_seed(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Flatten(input_shape=(8, 8, 3)), layers.Dense(1, activation="sigmoid")]
    )
    model.compile(tf.keras.optimizers.Adam(0.05), "binary_crossentropy", ["accuracy"])
    history = model.fit_generator(flow, epochs=10, verbose=0).history
    assert history["acc"][-1] == 1.0
    tf.keras.backend.clear_session()
    with pytest.raises(ValueError, match="no folder"):
        make.flow_from_directory(tmp_path, classes=["grey"])
