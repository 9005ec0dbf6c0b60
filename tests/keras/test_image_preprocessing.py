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
    rng = np.random.RandomState(0)  # the same images whichever tests ran before
    for name, value in (("dark", 40), ("light", 200)):
        (tmp_path / name).mkdir()
        for i in range(8):
            image.save_img(
                tmp_path / name / f"{i}.png", value + rng.rand(6, 6, 3) * 40, scale=False
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
    model.compile(tf.keras.optimizers.Adam(0.02), "binary_crossentropy", ["accuracy"])
    history = model.fit_generator(flow, epochs=40, verbose=0).history
    assert history["acc"][-1] == 1.0
    tf.keras.backend.clear_session()
    with pytest.raises(ValueError, match="no folder"):
        make.flow_from_directory(tmp_path, classes=["gray"])


def test_whitened_images_are_uncorrelated():
    rng = np.random.RandomState(3)
    x = rng.randn(400, 3, 3, 2) @ np.array([[1.0, 0.8], [0.0, 0.5]]) * 20 + 100
    make = image.ImageDataGenerator(zca_whitening=True, dtype="float64")
    make.fit(x)
    white = np.stack([make.standardize(one) for one in x]).reshape(400, -1)
    np.testing.assert_allclose(white.T @ white / 400, np.eye(18), atol=1e-6)
    # Of all ways to whiten, the one that leaves an image most alike: its matrix is symmetric.
    np.testing.assert_allclose(make.principal_components, make.principal_components.T, atol=1e-12)
    with pytest.raises(ValueError, match="call .fit"):
        next(image.ImageDataGenerator(zca_whitening=True).flow(x))


def test_channels_first_is_the_same_with_other_axes():
    x = RNG.rand(12, 5, 6, 3).astype("float32")
    settings = {
        "rotation_range": 30,
        "width_shift_range": 0.2,
        "zoom_range": 0.3,
        "horizontal_flip": True,
        "featurewise_std_normalization": True,
    }
    last = image.ImageDataGenerator(**settings)
    first = image.ImageDataGenerator(**settings, data_format="channels_first")
    last.fit(x)
    first.fit(x.transpose(0, 3, 1, 2))
    one = next(last.flow(x, batch_size=12, seed=4))
    other = next(first.flow(x.transpose(0, 3, 1, 2), batch_size=12, seed=4))
    np.testing.assert_allclose(one.transpose(0, 3, 1, 2), other, rtol=1e-6)
    with pytest.raises(ValueError, match="channels_middle"):
        image.ImageDataGenerator(data_format="channels_middle")


def test_what_a_batch_held_can_be_looked_at(tmp_path):
    x = RNG.randint(0, 256, (5, 4, 6, 3)).astype("float32")
    batches = image.ImageDataGenerator().flow(
        x, batch_size=3, shuffle=False, save_to_dir=tmp_path, save_prefix="seen"
    )
    next(batches), next(batches)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["seen_0_1.png", "seen_1_1.png", "seen_2_1.png", "seen_3_2.png", "seen_4_2.png"]
    found = image.img_to_array(image.load_img(tmp_path / "seen_3_2.png"))
    scaled = (x[3] - x[3].min()) / (x[3].max() - x[3].min()) * 255
    np.testing.assert_allclose(found, scaled, atol=1)


def test_files_that_a_table_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    for i in range(6):
        image.save_img(tmp_path / f"{i}.png", np.full((4, 4, 3), 40.0 * i), scale=False)
    table = pandas.DataFrame(
        {
            "file": [f"{i}.png" for i in range(6)] + ["gone.png"],
            "kind": ["dark", "dark", "dim", "dim", "light", "light", "light"],
            "a": np.arange(7.0),
            "b": np.arange(7.0) * 2,
            "weight": np.arange(7.0) + 1,
        }
    )
    make = image.ImageDataGenerator()

    def batches(**settings):
        settings = {"target_size": (4, 4), "batch_size": 6, "shuffle": False, **settings}
        with pytest.warns(UserWarning, match="1 of .* images are not there.*gone.png"):
            return make.flow_from_dataframe(table, tmp_path, "file", **settings)

    rows = batches(y_col="kind", weight_col="weight")
    images, labels, weights = next(rows)
    assert rows.class_indices == {"dark": 0, "dim": 1, "light": 2}
    np.testing.assert_array_equal(images[:, 0, 0, 0], 40.0 * np.arange(6))
    np.testing.assert_array_equal(labels.argmax(1), [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(weights, np.arange(6) + 1)
    light = batches(y_col="kind", classes=["light", "dim"], class_mode="binary")
    np.testing.assert_array_equal(next(light)[1], [1, 1, 0, 0])
    np.testing.assert_array_equal(next(batches(y_col="a", class_mode="raw"))[1], np.arange(6))
    both = next(batches(y_col=["a", "b"], class_mode="raw"))[1]
    np.testing.assert_array_equal(both, np.stack([np.arange(6), 2 * np.arange(6)], 1))
    one, other = next(batches(y_col=["a", "b"], class_mode="multi_output"))[1]
    np.testing.assert_array_equal(other, 2 * one)
    assert next(batches(class_mode=None)).shape == (6, 4, 4, 3)
    with pytest.raises(ValueError, match="no column 'sort'. It has 'file', 'kind'"):
        make.flow_from_dataframe(table, tmp_path, "file", "sort")
    with pytest.raises(ValueError, match="needs 2 classes, column 'kind' has 3"):
        make.flow_from_dataframe(table, tmp_path, "file", "kind", class_mode="binary")
    with (
        pytest.raises(ValueError, match="none of the images"),
        pytest.warns(UserWarning, match="7 of 7"),
    ):
        make.flow_from_dataframe(table, tmp_path / "other", "file", "kind")
