"""``tf.contrib.image``: splines, warps, colors in YIQ, connected components."""

import colorsys

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("fresh_graph")
image = tf.contrib.image


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_spline_goes_through_its_points_and_keeps_planes(order):
    rng = np.random.default_rng(0)
    points, queries = rng.random((2, 12, 2)), rng.random((2, 5, 2))
    values = rng.random((2, 12, 3))
    np.testing.assert_allclose(
        run(image.interpolate_spline(points, values, points, order)), values, atol=1e-5
    )
    plane = np.array([[2.0], [-3.0]])
    found = run(image.interpolate_spline(points, points @ plane + 1, queries, order))
    np.testing.assert_allclose(found, queries @ plane + 1, atol=1e-5)
    smooth = run(image.interpolate_spline(points, values, points, order, 0.1))
    assert np.abs(smooth - values).max() > 1e-3


def test_sparse_image_warp_moves_a_pixel():
    picture = np.zeros((1, 9, 9, 1), np.float32)
    picture[0, 4, 4] = 1
    source, dest = np.array([[[4.0, 4.0]]], np.float32), np.array([[[5.0, 6.0]]], np.float32)
    warped, flow = run(image.sparse_image_warp(picture, source, dest, num_boundary_points=1))
    assert flow.shape == (1, 9, 9, 2)
    np.testing.assert_allclose(flow[0, 5, 6], [1, 2], atol=1e-4)
    np.testing.assert_allclose(flow[0, [0, 0, 8, 8], [0, 8, 0, 8]], 0, atol=1e-4)
    assert warped[0, 5, 6, 0] == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="size"):
        image.sparse_image_warp(tf.placeholder(tf.float32, [1, None, 9, 1]), source, dest)


def test_colors_in_yiq():
    colors = np.random.default_rng(1).random((4, 5, 3), np.float32)
    same = image.adjust_hsv_in_yiq(colors)
    np.testing.assert_allclose(run(same), colors, atol=1e-5)
    gray = run(image.adjust_hsv_in_yiq(colors, saturation_scale=0.0))
    luma = np.array([colorsys.rgb_to_yiq(*c)[0] for c in colors.reshape(-1, 3)]).reshape(4, 5)
    np.testing.assert_allclose(gray, np.repeat(luma[..., None], 3, -1), atol=0.01)
    np.testing.assert_allclose(
        run(image.adjust_hsv_in_yiq(colors, value_scale=0.5)), colors / 2, atol=1e-5
    )
    around = run(image.adjust_hsv_in_yiq(colors, delta_hue=2 * np.pi))
    np.testing.assert_allclose(around, colors, atol=1e-5)
    assert run(image.adjust_hsv_in_yiq(tf.zeros([2, 2, 3], tf.uint8))).dtype == np.uint8
    with pytest.raises(ValueError, match=r"\[..., 3\]"):
        image.adjust_hsv_in_yiq(tf.zeros([2, 2, 4]))


def test_random_colors_stay_within_their_limits():
    colors = tf.fill([3, 3, 3], 0.5)
    found = run(image.random_hsv_in_yiq(colors, lower_value=0.5, upper_value=0.8, seed=1))
    assert found.min() >= 0.25 and found.max() <= 0.4 + 1e-6
    for wrong in (
        {"max_delta_hue": -1},
        {"lower_saturation": -1},
        {"lower_value": 2, "upper_value": 1},
    ):
        with pytest.raises(ValueError, match=r"non-negative|above"):
            image.random_hsv_in_yiq(colors, **wrong)


def test_connected_components():
    pixels = [[1, 0, 2, 2], [1, 1, 0, 2], [0, 1, 3, 0], [4, 0, 3, 1]]
    expected = [[1, 0, 2, 2], [1, 1, 0, 2], [0, 1, 3, 0], [4, 0, 3, 5]]
    found = image.connected_components(pixels)
    assert found.dtype == tf.int64 and run(found).tolist() == expected
    both = run(image.connected_components(np.array([[[True, False]], [[True, True]]])))
    assert both.tolist() == [[[1, 0]], [[2, 2]]]
    spiral = np.array([[1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1]])
    assert run(image.connected_components(spiral)).max() == 1
    with pytest.raises(TypeError, match="rank"):
        image.connected_components([1, 2])
