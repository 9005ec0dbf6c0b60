"""`tf.keras.applications`: names, shapes and sizes of the published networks, and their inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

applications = tf.keras.applications


pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("name", "count", "without_top", "first", "last"),
    [
        # The counts of weights that Keras's documentation has, and the shape without the top.
        ("VGG16", 138_357_544, (7, 7, 512), "block1_conv1", "predictions"),
        ("VGG19", 143_667_240, (7, 7, 512), "block1_conv1", "predictions"),
        ("ResNet50", 25_636_712, (7, 7, 2048), "conv1_conv", "probs"),
        ("MobileNet", 4_253_864, (7, 7, 1024), "conv1", "conv_preds"),
        ("InceptionV3", 23_851_784, (5, 5, 2048), "conv2d", "predictions"),
        ("MobileNetV2", 3_538_984, (7, 7, 1280), "Conv1", "Logits"),
        ("DenseNet121", 8_062_504, (7, 7, 1024), "conv1/conv", "fc1000"),
        ("Xception", 22_910_480, (7, 7, 2048), "block1_conv1", "predictions"),
        ("InceptionResNetV2", 55_873_736, (5, 5, 1536), "conv2d", "predictions"),
        ("NASNetMobile", 5_326_716, (7, 7, 1056), "stem_conv1", "predictions"),
        ("ResNet50V2", 25_613_800, (7, 7, 2048), "conv1_conv", "probs"),
    ],
)
def test_the_published_networks(
    name: str, count: int, without_top: Any, first: str, last: str
) -> None:
    model = getattr(applications, name)(weights=None)
    assert model.count_params() == count
    assert model.output_shape == (None, 1000)
    weighted = [layer.name for layer in model.layers if layer.weights]
    assert (weighted[0], weighted[-1]) == (first, last)
    with tf.Graph().as_default():
        make = getattr(applications, name)
        assert make(include_top=False, weights=None, input_shape=(224, 224, 3)).output_shape == (
            (None, *without_top)
        )


def test_deeper_residual_networks_and_old_paths() -> None:
    assert applications.ResNet101(weights=None).count_params() == 44_707_176
    assert applications.resnet50.ResNet50 is applications.ResNet50
    from dataflow.keras.applications.vgg16 import VGG16, preprocess_input

    assert VGG16 is applications.VGG16 and callable(preprocess_input)


def test_nasnet_has_keras_names_of_layers_and_weights() -> None:
    nasnet = applications.nasnet.NASNet
    model = nasnet((32, 32, 3), 96, 1, 8, include_top=False, pooling="max")
    assert model.name == "NASNet" and model.output_shape == (None, 96)
    names = [v.name for v in model.get_layer("separable_conv_1_bn_reduction_left4_stem_2").weights]
    assert names[0] == (
        "reduction_A_block_stem_2/block_5/separable_conv_block_reduction_left4_stem_2"
        "/separable_conv_1_bn_reduction_left4_stem_2/gamma:0"
    )
    adjusted = model.get_layer("adjust_bn_reduce_2").weights[0].name
    assert adjusted.startswith("reduction_A_block_reduce_2/adjust_block/adjust_projection_block_")
    with pytest.raises(ValueError, match=r"multiple of 96 .* got 100"):
        nasnet(penultimate_filters=100)


def test_a_network_is_built_on_another_input_and_trained(tmp_path: Path) -> None:
    entry = tf.keras.Input((32, 32, 3))
    base = applications.MobileNet(
        input_tensor=entry,
        input_shape=(32, 32, 3),
        alpha=0.25,
        include_top=False,
        weights=None,
        pooling="avg",
    )
    assert base.output_shape == (None, 256) and base.name == "mobilenet_0.25_32"
    for layer in base.layers[:-3]:
        layer.trainable = False
    model = tf.keras.Model(entry, tf.keras.layers.Dense(2, activation="softmax")(base.output))
    model.compile("adam", "sparse_categorical_crossentropy")
    rng = np.random.RandomState(0)
    x = rng.rand(8, 32, 32, 3).astype("float32")
    before = model.get_weights()
    model.fit(x, np.arange(8) % 2, epochs=1, verbose=0)
    changed = [not np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True)]
    assert not changed[0] and changed[-1]
    path = str(tmp_path / "weights.h5")
    base.save_weights(path)
    expected = base.predict(x)
    with tf.Graph().as_default():
        again = applications.MobileNet(
            (32, 32, 3), 0.25, include_top=False, weights=path, pooling="avg"
        )
        np.testing.assert_allclose(again.predict(x), expected, rtol=1e-5, atol=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"weights='imagenet' needs a file.*weights='path\.h5'"):
        applications.VGG16()
    with pytest.raises(ValueError, match="there is no 'nowhere.h5'"):
        applications.ResNet50(weights="nowhere.h5")
    with pytest.raises(ValueError, match="at least 75"):
        applications.InceptionV3(include_top=False, weights=None, input_shape=(64, 64, 3))
    with pytest.raises(ValueError, match="'avg' or 'max', got 'mean'"):
        applications.VGG16(include_top=False, weights=None, input_shape=(32, 32, 3), pooling="mean")


def test_pixels_as_networks_take_them() -> None:
    x = np.array([[[[0, 127.5, 255.0]]]], np.float32)
    vgg = applications.vgg16.preprocess_input(x.copy())
    np.testing.assert_allclose(vgg[0, 0, 0], [255 - 103.939, 127.5 - 116.779, -123.68], rtol=1e-6)
    np.testing.assert_allclose(
        applications.mobilenet.preprocess_input(x.copy())[0, 0, 0], [-1, 0, 1]
    )
    torch = applications.imagenet_utils.preprocess_input(x.copy(), mode="torch")
    np.testing.assert_allclose(
        torch[0, 0, 0], [-0.485 / 0.229, (0.5 - 0.456) / 0.224, (1 - 0.406) / 0.225], rtol=1e-5
    )
    first = applications.vgg16.preprocess_input(x.copy().transpose(0, 3, 1, 2), "channels_first")
    np.testing.assert_array_equal(first[0, :, 0, 0], vgg[0, 0, 0])
    with tf.Session() as sess:
        tensor = applications.resnet50.preprocess_input(tf.constant(x))
        np.testing.assert_array_equal(sess.run(tensor), vgg)
    integers = np.full((2, 2, 3), 255, np.int32)
    assert (
        applications.mobilenet.preprocess_input(integers)[0, 0, 0] == 1 and integers[0, 0, 0] == 255
    )
    for mode in ("tf", "torch", "caffe"):  # pixels that are floats are overwritten, as Keras does
        given = x.copy()
        assert np.shares_memory(
            applications.imagenet_utils.preprocess_input(given, mode=mode), given
        )
        assert (given != x).all()
    assert applications.mobilenet.preprocess_input(np.zeros((2, 2, 3), np.uint8)).dtype == "float32"
    with pytest.raises(ValueError, match="'torch', got 'jpeg'"):
        applications.imagenet_utils.preprocess_input(x, mode="jpeg")


def test_names_of_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.zeros((1, 1000), np.float32)
    scores[0, [7, 9]] = [0.7, 0.3]
    monkeypatch.setenv("DATAFLOW_DATA", str(tmp_path))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="imagenet_class_index.json"):
        applications.vgg16.decode_predictions(scores)
    names = {str(i): [f"n{i:08}", f"class {i}"] for i in range(1000)}
    (tmp_path / "imagenet_class_index.json").write_text(json.dumps(names))
    (best,) = applications.vgg16.decode_predictions(scores, top=2)
    assert [row[:2] for row in best] == [("n00000007", "class 7"), ("n00000009", "class 9")]
    with pytest.raises(ValueError, match=r"\(samples, 1000\)"):
        applications.vgg16.decode_predictions(np.zeros((1, 10)))
