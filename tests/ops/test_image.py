"""Images: resizing as a linear map, functions without an op of their own, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import image_resize as image_kernels

BATCH = np.random.default_rng(0).random((2, 5, 7, 3)).astype(np.float32)
IMAGE = BATCH[0]
PIXELS = (IMAGE * 255).astype(np.uint8)


def evaluate(tensor: Any) -> Any:
    with tf.Session(graph=tf.get_default_graph()) as session:
        return session.run(tensor)


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "nearest_neighbor"])
@pytest.mark.parametrize("size", [[3, 4], [9, 11], [5, 7]])
@pytest.mark.parametrize("corners", [False, True])
def test_the_gradient_of_resizing_is_its_transpose(method: str, size: Any, corners: bool) -> None:
    """<resize(x), g> = <x, gradient(g)> for a linear map, and once more for the gradient's own."""
    weights = np.random.default_rng(1).random((2, *size, 3)).astype(np.float32)
    with tf.Graph().as_default():
        x, g = tf.constant(BATCH), tf.constant(weights)
        resize = getattr(tf.image, f"resize_{method}")
        y = resize(x, size, align_corners=corners)
        (back,) = tf.gradients(y, x, g)
        (again,) = tf.gradients(back, g, x)
        y, back, again = evaluate([y, back, again])
    np.testing.assert_allclose(np.vdot(y, weights), np.vdot(BATCH, back), rtol=1e-4)
    np.testing.assert_allclose(again, y, rtol=1e-4, atol=1e-5)


def test_resize_images_takes_single_images_and_keeps_proportions() -> None:
    with tf.Graph().as_default():
        assert tf.image.resize_images(IMAGE, [4, 4]).shape.as_list() == [4, 4, 3]
        kept = tf.image.resize_images(IMAGE, [4, 4], preserve_aspect_ratio=True)
        assert evaluate(kept).shape == (3, 4, 3)
        same = tf.image.resize_images(PIXELS, [5, 7])
        assert same.dtype == tf.uint8
        old = tf.image.resize_images(IMAGE, 4, 6)
        assert old.shape.as_list() == [4, 6, 3]
        unknown = tf.image.resize_images(tf.placeholder(tf.uint8, [None, None, 3]), [3, 3])
        assert unknown.shape.as_list() == [3, 3, 3]


def test_cropping_and_padding() -> None:
    with tf.Graph().as_default():
        results = evaluate(
            [
                tf.image.resize_image_with_crop_or_pad(IMAGE, 3, 9),
                tf.image.central_crop(IMAGE, 0.5),
                tf.image.crop_to_bounding_box(BATCH, 1, 2, 3, 4),
                tf.image.pad_to_bounding_box(IMAGE, 1, 2, 8, 10),
            ]
        )
    np.testing.assert_array_equal(results[0], np.pad(IMAGE[1:4], [(0, 0), (1, 1), (0, 0)]))
    np.testing.assert_array_equal(results[1], IMAGE[1:4, 1:6])
    np.testing.assert_array_equal(results[2], BATCH[:, 1:4, 2:6])
    np.testing.assert_array_equal(results[3], np.pad(IMAGE, [(1, 2), (2, 1), (0, 0)]))


def test_sizes_may_be_unknown_until_the_graph_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, 3])
        tensors = [
            tf.image.resize_image_with_crop_or_pad(x, 3, 9),
            tf.image.central_crop(x, 0.5),
            tf.image.random_flip_left_right(x, seed=1),
            tf.image.rot90(x),
        ]
        values = session.run(tensors, {x: IMAGE})
    assert [v.shape for v in values] == [(3, 9, 3), (3, 5, 3), (5, 7, 3), (7, 5, 3)]
    np.testing.assert_array_equal(values[3], np.rot90(IMAGE))


def test_random_flips_do_both() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        flipped = tf.image.random_flip_left_right(IMAGE, seed=5)
        seen = {session.run(flipped)[0, 0, 0] for _ in range(40)}
        assert seen == {IMAGE[0, 0, 0], IMAGE[0, -1, 0]}


def test_random_changes_stay_in_their_range() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(IMAGE)
        brighter = tf.image.random_brightness(x, 0.25, seed=1) - x
        for _ in range(10):
            delta = session.run(brighter)
            assert np.ptp(delta) < 1e-5
            assert abs(delta.mean()) <= 0.25
        for function in (tf.image.random_contrast, tf.image.random_saturation):
            assert session.run(function(x, 0.5, 1.5, seed=2)).shape == IMAGE.shape
            with pytest.raises(ValueError, match="upper must be > lower"):
                function(x, 1.0, 0.5)
        assert session.run(tf.image.random_hue(x, 0.2, seed=3)).shape == IMAGE.shape
        with pytest.raises(ValueError, match=r"<= 0\.5"):
            tf.image.random_hue(x, 0.6)


def test_a_random_window_covers_what_it_must() -> None:
    box = [0.25, 0.25, 0.75, 0.75]
    with tf.Graph().as_default(), tf.Session() as session:
        begin, size, boxes = tf.image.sample_distorted_bounding_box(
            [40, 60, 3], [[box]], seed=3, min_object_covered=0.5
        )
        cut = tf.slice(tf.zeros([40, 60, 3]), begin, size)
        for _ in range(20):
            (top, left, _), (rows, columns, _), window, part = session.run(
                [begin, size, boxes, cut]
            )
            high = min(top + rows, 30) - max(top, 10)
            wide = min(left + columns, 45) - max(left, 15)
            assert high * wide >= 0.5 * 20 * 30 - 1e-6
            assert part.shape == (rows, columns, 3)
            np.testing.assert_allclose(window[0, 0, :2], [top / 40, left / 60], rtol=1e-6)
        empty = tf.image.sample_distorted_bounding_box([40, 60, 3], np.zeros((1, 0, 4)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes"):
            session.run(empty.begin)


def test_dtypes_are_rescaled() -> None:
    with tf.Graph().as_default():
        floats, bytes_, wide, saturated = evaluate(
            [
                tf.image.convert_image_dtype(PIXELS, tf.float32),
                tf.image.convert_image_dtype(np.float32([0, 0.5, 1]), tf.uint8),
                tf.image.convert_image_dtype(np.uint8([0, 200]), tf.int16),
                tf.image.convert_image_dtype(np.float32([-1, 2]), tf.uint8, saturate=True),
            ]
        )
    np.testing.assert_allclose(floats, PIXELS / 255, rtol=1e-6)
    assert bytes_.tolist() == [0, 127, 255]
    assert wide.tolist() == [0, 200 * 128]
    assert saturated.tolist() == [0, 255]


def test_measures() -> None:
    with tf.Graph().as_default():
        noisy = np.clip(BATCH + 0.1, 0, 1)
        same, psnr, variation = evaluate(
            [
                tf.image.ssim(np.tile(BATCH, [1, 3, 2, 1]), np.tile(BATCH, [1, 3, 2, 1]), 1.0),
                tf.image.psnr(BATCH, noisy, 1.0),
                tf.image.total_variation(BATCH),
            ]
        )
    np.testing.assert_allclose(same, [1, 1], rtol=1e-5)
    mse = ((BATCH - noisy) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(psnr, 10 * np.log10(1 / mse), rtol=1e-4)
    steps = np.abs(np.diff(BATCH, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(BATCH, axis=2)).sum(
        (1, 2, 3)
    )
    np.testing.assert_allclose(variation, steps, rtol=1e-5)


def test_standardized_images_have_mean_0_and_deviation_1() -> None:
    with tf.Graph().as_default():
        value, flat = evaluate(
            [
                tf.image.per_image_standardization(BATCH),
                tf.image.per_image_standardization(np.ones((4, 4, 3), np.uint8)),
            ]
        )
    np.testing.assert_allclose(value.mean((1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(value.std((1, 2, 3)), 1, rtol=1e-5)
    np.testing.assert_allclose(flat, 0, atol=1e-5)


def test_mistakes_are_found_when_the_node_is_made() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must have rank 3 or 4"):
            tf.image.flip_left_right(np.zeros((3, 3), np.float32))
        with pytest.raises(ValueError, match="central_fraction"):
            tf.image.central_crop(IMAGE, 1.5)
        with pytest.raises(ValueError, match="target"):
            tf.image.crop_to_bounding_box(IMAGE, 4, 0, 3, 3)
        with pytest.raises(ValueError, match="3 channels"):
            tf.image.rgb_to_hsv(IMAGE[..., :2])
        with pytest.raises(ValueError, match="not implemented"):
            tf.image.resize_images(IMAGE, [2, 2], method="lanczos")
        with pytest.raises(ValueError, match="channels"):
            tf.image.decode_jpeg(b"", channels=2)


def test_files_that_are_no_images_are_named() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for decode in (tf.image.decode_jpeg, tf.image.decode_png, tf.image.decode_image):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no image of format"):
                session.run(decode(b"not an image"))


def test_jpegs_keep_what_they_show() -> None:
    smooth = np.linspace(0, 255, 32 * 32 * 3).reshape(32, 32, 3).astype(np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        gray, again = session.run(
            [
                tf.image.decode_jpeg(tf.image.encode_jpeg(smooth), channels=1),
                tf.image.decode_jpeg(tf.image.encode_jpeg(smooth, quality=100)),
            ]
        )
    assert gray.shape == (32, 32, 1)
    assert np.abs(again.astype(int) - smooth).max() <= 8


def _suppressed(boxes, scores, most: int, iou: float) -> list[int]:
    """One box after the other, as the definition says."""
    y1, x1 = np.minimum(boxes[:, :2], boxes[:, 2:]).T
    y2, x2 = np.maximum(boxes[:, :2], boxes[:, 2:]).T
    areas = (y2 - y1) * (x2 - x1)
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        hidden = False
        for j in chosen:
            high = max(0, min(y2[i], y2[j]) - max(y1[i], y1[j]))
            shared = high * max(0, min(x2[i], x2[j]) - max(x1[i], x1[j]))
            union = areas[i] + areas[j] - shared
            hidden = hidden or (union > 0 and shared / union > iou)
        if not hidden and len(chosen) < most:
            chosen.append(i)
    return chosen


@pytest.mark.parametrize(
    ("count", "most", "iou"), [(400, 30, 0.3), (400, 400, 0.1), (300, 300, 0.9), (0, 3, 0.5)]
)
def test_boxes_are_suppressed_by_better_ones_in_other_blocks_too(
    count: int, most: int, iou: float
) -> None:
    rng = np.random.default_rng(count + most)
    boxes, scores = rng.random((count, 4), np.float32), rng.random(count, np.float32)
    boxes[:, 2:] = boxes[:, :2] + 0.2
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.image.non_max_suppression(boxes, scores, most, iou))
    assert found.tolist() == _suppressed(boxes, scores, most, iou)
    assert found.dtype == np.int32


@pytest.mark.parametrize("make", ["bilinear", "bicubic", "nearest"])
def test_gathered_pixels_make_what_the_matrices_make(make: str) -> None:
    matrix = getattr(image_kernels, f"{make}_matrix")(17, 40, False, True)
    images = np.random.default_rng(0).random((2, 17, 40, 3), dtype=np.float32)
    gathered = image_kernels.LinearMap(matrix, image_kernels._taps(matrix))
    back = image_kernels.LinearMap(matrix.T, ())  # a product
    assert gathered.taps
    wanted = np.einsum("ij,kl,njlc->nikc", matrix, matrix.T, images)
    np.testing.assert_allclose(image_kernels._apply((gathered, back), images), wanted, rtol=1e-5)
    turned = images.transpose(0, 2, 1, 3)
    wanted = np.einsum("ij,kl,njlc->nikc", matrix.T, matrix, turned)
    np.testing.assert_allclose(image_kernels._apply((back, gathered), turned), wanted, rtol=1e-5)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_of_16_bits(channels) -> None:
    pixels = (np.arange(6 * channels).reshape(2, 3, channels) * 1000).astype(np.uint16)
    with tf.Graph().as_default(), tf.Session() as sess:
        png = tf.image.encode_png(pixels)
        wide, narrow = sess.run(
            [tf.image.decode_png(png, dtype=tf.uint16), tf.image.decode_png(png, dtype=tf.uint8)]
        )
        others = [sess.run(tf.image.decode_png(png, n, tf.uint16)) for n in (1, 2, 3, 4)]
    np.testing.assert_array_equal(wide, pixels)
    np.testing.assert_array_equal(narrow, pixels >> 8)
    assert [other.shape[-1] for other in others] == [1, 2, 3, 4]
    np.testing.assert_array_equal(others[channels - 1], pixels)


def test_gray_images_of_unknown_rank() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        images = tf.placeholder(tf.uint8)
        colored = tf.image.grayscale_to_rgb(images)
        assert sess.run(colored, {images: [[[1], [2]]]}).tolist() == [[[1, 1, 1], [2, 2, 2]]]
        assert sess.run(colored, {images: np.ones([2, 3, 4, 1])}).shape == (2, 3, 4, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="should be size 1"):
            sess.run(colored, {images: [[[1, 2]]]})


def test_factors_that_adjust_images() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        image, gamma = tf.ones([2, 2, 3]), tf.placeholder(tf.float32, [])
        with pytest.raises(ValueError, match="contrast_factor"):
            tf.image.adjust_contrast(image, [1.0, 2.0])
        adjusted = tf.image.adjust_gamma(image / 2.0, gamma)
        assert sess.run(adjusted, {gamma: 2.0})[0, 0, 0] == 0.25
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
            sess.run(adjusted, {gamma: -1.0})


def test_whole_numbers_are_standardized_as_they_are() -> None:
    """Not as shares of 255: the deviation would fall below its least value, 1 / sqrt(12) here."""
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        standard = tf.image.per_image_standardization(pixels)
        assert standard.dtype == tf.float32
        expected = (pixels - pixels.mean()) / pixels.std()
        np.testing.assert_allclose(sess.run(standard), expected, rtol=1e-5)


def test_what_has_an_unknown_rank_is_turned_as_one_image() -> None:
    with tf.Graph().as_default():
        image = tf.placeholder(tf.float32)
        turned = [
            tf.image.flip_left_right(image),
            tf.image.random_flip_up_down(image),
            tf.image.transpose_image(image),
            tf.image.rot90(image),
        ]
        assert [t.shape.ndims for t in turned] == [3] * 4
        with tf.Session() as sess:
            mirrored = sess.run(turned[0], {image: [[[1.0], [2.0]]]})
            np.testing.assert_array_equal(mirrored, [[[2.0], [1.0]]])
            with pytest.raises(tf.errors.InvalidArgumentError, match="is not compatible with"):
                sess.run(turned[0], {image: np.zeros((2, 1, 2, 1))})


def test_doubles_are_standardized_as_doubles() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        standard = tf.image.per_image_standardization(np.arange(12.0).reshape(2, 2, 3))
        assert standard.dtype == tf.float64
        assert abs(sess.run(standard).std() - 1.0) < 1e-12


def test_what_has_an_unknown_rank_is_cut_as_one_image() -> None:
    """As in TensorFlow (tests/oracle/programs/differences_last.py)."""
    with tf.Graph().as_default():
        image = tf.placeholder(tf.float32)
        cropped = tf.image.crop_to_bounding_box(image, 1, 2, 2, 3)
        padded = tf.image.pad_to_bounding_box(image, 1, 0, 7, 8)
        both = tf.image.resize_image_with_crop_or_pad(image, 3, 9)
        assert [t.shape.as_list() for t in (cropped, padded, both)] == [
            [2, 3, None],
            [7, 8, None],
            [3, 9, None],
        ]
        assert image.shape.ndims is None
        with tf.Session() as sess:
            values = sess.run([cropped, padded, both], {image: IMAGE})
            np.testing.assert_array_equal(values[0], IMAGE[1:3, 2:5])
            np.testing.assert_array_equal(values[1][1:6, :7], IMAGE)
            np.testing.assert_array_equal(values[2][:, 1:8], IMAGE[1:4])
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(cropped, {image: BATCH})
        with pytest.raises(ValueError, match="set_shape"):
            tf.image.central_crop(image, 0.5)


def test_the_window_of_a_jpeg_has_its_size() -> None:
    with tf.Graph().as_default():
        file = tf.image.encode_jpeg(tf.constant(PIXELS))
        window = tf.image.decode_and_crop_jpeg(file, [1, 2, 3, 4], channels=3)
        assert window.shape.as_list() == [3, 4, 3]
        whole = evaluate(tf.image.decode_jpeg(file))
        np.testing.assert_array_equal(evaluate(window), whole[1:4, 2:6])


def test_images_of_unknown_rank_are_turned_as_one_image() -> None:
    one = np.arange(6.0, dtype=np.float32).reshape(2, 3, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        image, k = tf.placeholder(tf.float32), tf.placeholder(tf.int32, [])
        turned = tf.image.rot90(image)
        assert session.run(turned, {image: one}).tolist() == np.rot90(one).tolist()
        turned = tf.image.transpose_image(image)
        assert session.run(turned, {image: one}).tolist() == one.transpose(1, 0, 2).tolist()
        turned = tf.image.rot90(tf.constant(one), k)
        for i in range(-1, 5):
            assert session.run(turned, {k: i}).tolist() == np.rot90(one, i).tolist()


def test_a_png_file_of_four_channels_by_decode_jpeg() -> None:
    with tf.Graph().as_default():
        pixels = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
        png, jpeg = tf.image.encode_png(pixels), tf.image.encode_jpeg(pixels[..., :3])
        assert (evaluate(tf.image.decode_jpeg(png, channels=4)) == pixels).all()
        with pytest.raises(Exception, match="channels must be 0, 1, or 3 for JPEG, got 4"):
            evaluate(tf.image.decode_jpeg(jpeg, channels=4))


@pytest.mark.parametrize("dims", [None, [None] * 4, [None, None, None, 2]])
def test_measures_of_images_whose_size_only_the_run_tells(dims: list[int | None] | None) -> None:
    at = np.arange(16 * 15 * 2).reshape(1, 16, 15, 2)
    first, second = (at % 17 / 16).astype(np.float32), (at % 13 / 12).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32, dims), tf.placeholder(tf.float32)
        alike = tf.image.ssim(a, b, 1.0)
        scales = tf.image.ssim_multiscale(a, b, 1.0, power_factors=[1.0])
        measures = [alike, scales, tf.gradients(alike, b)[0], tf.image.sobel_edges(a)]
        alike, scales, slope, edges = session.run(measures, {a: first, b: second})
        # TensorFlow 1.15's numbers.
        np.testing.assert_allclose([alike[0], scales[0]], [0.0376197, 0.0376197], rtol=1e-4)
        np.testing.assert_allclose(np.abs(slope).sum(), 2.7483563, rtol=1e-4)
        assert edges.shape == (1, 16, 15, 2, 2)
        np.testing.assert_allclose(np.abs(edges).sum(), 944.5, rtol=1e-5)
        with pytest.raises(ValueError, match=r"height, width, channels\], got \(2, 2\)"):
            tf.image.ssim(np.zeros((2, 2)), b, 1.0)
