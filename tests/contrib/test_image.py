"""`tf.contrib.image`; the maps' values are TensorFlow's (its op ImageProjectiveTransformV2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

image = tf.contrib.image
IMAGES = np.arange(40, dtype=np.float32).reshape(2, 4, 5, 1)
MAPS = [[1.1, 0.2, -0.5, -0.1, 0.9, 0.7, 0.01, 0.02], [1, 0, 1.5, 0, 1, -0.5, 0, 0]]
NEAREST = [
    [[0, 6, 2, 3, 4], [10, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]],
    [[0, 0, 0, 0, 0], [27, 28, 29, 0, 0], [32, 33, 34, 0, 0], [37, 38, 39, 0, 0]],
]
BILINEAR = [
    [
        [1.75, 3.5643559, 4.1176472, 4.6601944, 5.192308],
        [5.5363312, 8.0582533, 8.5576925, 9.0476198, 9.5283012],
        [10.8635367, 12.3809519, 12.8301907, 13.2710266, 13.7037039],
        [11.9615517, 14.7654839, 16.9444447, 17.3394489, 16.0330582],
    ],
    [
        [10.75, 11.25, 11.75, 6.0, 0.0],
        [24.0, 25.0, 26.0, 13.25, 0.0],
        [29.0, 30.0, 31.0, 15.75, 0.0],
        [34.0, 35.0, 36.0, 18.25, 0.0],
    ],
]


pytestmark = pytest.mark.usefixtures("session")


@pytest.mark.parametrize(("how", "wanted"), [("NEAREST", NEAREST), ("BILINEAR", BILINEAR)])
def test_projective_maps(session: Any, how: str, wanted: Any) -> None:
    found = image.transform(tf.constant(IMAGES), MAPS, how)
    assert found.get_shape().as_list() == [2, 4, 5, 1]
    np.testing.assert_allclose(session.run(found)[..., 0], wanted, rtol=1e-5)
    one = session.run(image.transform(IMAGES[1, :, :, 0], MAPS[1], how, output_shape=[2, 3]))
    np.testing.assert_allclose(one, np.array(wanted)[1, :2, :3], rtol=1e-5)


def test_integers_stay_integers(session: Any) -> None:
    found = session.run(image.transform(IMAGES.astype(np.uint8), MAPS, "BILINEAR"))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[..., 0], np.array(BILINEAR).astype(np.uint8))


def test_rotation_and_translation(session: Any) -> None:
    square = IMAGES[0, :, :4, 0]
    np.testing.assert_array_equal(session.run(image.rotate(square, np.pi / 2)), np.rot90(square))
    both = session.run(image.rotate(IMAGES[:, :, :4], [np.pi, 0.0]))
    np.testing.assert_array_equal(both[0, ..., 0], square[::-1, ::-1])
    np.testing.assert_array_equal(both[1], IMAGES[1, :, :4])
    moved = session.run(image.translate(IMAGES[0], [1, 2]))
    np.testing.assert_array_equal(moved[2:, 1:], IMAGES[0, :2, :4])
    assert not moved[:2].any() and not moved[:, 0].any()


def test_maps_one_after_the_other(session: Any) -> None:
    turn = image.angles_to_projective_transforms(np.pi / 2, 4, 4)
    move = image.translations_to_projective_transforms([1, 0])
    both = image.transform(IMAGES[:1, :, :4], image.compose_transforms(turn, move))
    wanted = image.translate(image.rotate(IMAGES[:1, :, :4], np.pi / 2), [1, 0])
    found, steps = session.run([both, wanted])
    assert found.any()
    back = session.run(image.compose_transforms(turn, turn, turn, turn))
    np.testing.assert_allclose(back, [[1, 0, 0, 0, 1, 0, 0, 0]], atol=1e-5)
    assert sorted(found.ravel())[-6:] == sorted(steps.ravel())[-6:]


def test_gradients_reach_the_images(session: Any) -> None:
    x = tf.constant(IMAGES)
    for how in ("NEAREST", "BILINEAR"):
        y = image.transform(x, MAPS, how)
        (grad,) = tf.gradients(y, x)
        # The map is linear: <gradient of the sum, x> is the sum.
        got, total = session.run([tf.reduce_sum(grad * x), tf.reduce_sum(y)])
        np.testing.assert_allclose(got, total, rtol=1e-5)


def test_dense_warp(session: Any) -> None:
    whole = np.zeros((2, 4, 5, 2), np.float32)
    whole[..., 0], whole[..., 1] = 1.0, -2.0
    warped = session.run(image.dense_image_warp(IMAGES, whole))[0, ..., 0]
    rows, columns = np.clip(np.arange(4) - 1, 0, 3), np.clip(np.arange(5) + 2, 0, 4)
    np.testing.assert_allclose(warped, IMAGES[0, rows][:, columns, 0])
    half = session.run(image.dense_image_warp(IMAGES, whole / 4))[0, 1, 1, 0]
    doubles = IMAGES.astype(np.float64)  # of another dtype than the flow
    assert session.run(image.dense_image_warp(doubles, whole / 4))[0, 1, 1, 0] == half
    np.testing.assert_allclose(half, 6 - 0.25 * 5 + 0.5, rtol=1e-6)
    flow = tf.constant(whole / 4)
    x = tf.constant(np.random.RandomState(0).rand(2, 4, 5, 1), tf.float32)
    by_image, by_flow = session.run(tf.gradients(image.dense_image_warp(x, flow), [x, flow]))
    assert np.abs(by_image).sum() > 1 and np.abs(by_flow[:, 1:3, 1:3]).min() > 0


def test_what_does_not_fit_says_so() -> None:
    with pytest.raises(ValueError, match="interpolation must be 'NEAREST' or 'BILINEAR', got 'cub"):
        image.rotate(IMAGES, 0.1, "cubic")
    with pytest.raises(TypeError, match="rank between 2 and 4"):
        image.rotate(np.zeros((1, 1, 1, 1, 1)), 0.1)
    with pytest.raises(TypeError, match="Transforms should have rank 1 or 2"):
        image.transform(IMAGES, np.zeros((1, 1, 8)))
