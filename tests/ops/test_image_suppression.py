"""Boxes chosen by score: softly, by given overlaps, and class by class. Values are TensorFlow 1.15.5's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

BOXES = np.array(
    [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [0, -0.1, 1, 0.9],
        [0, 10, 1, 11],
        [0, 10.1, 1, 11.1],
        [0, 100, 1, 101],
    ],
    np.float32,
)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)


pytestmark = pytest.mark.usefixtures("graph")


def test_scores_fall_with_each_overlap_and_what_overlaps_more_goes() -> None:
    # 0 and 1 overlap by 0.8182: the second of the pair falls to 0.75 * exp(-0.8182**2).
    indices, scores = run(
        tf.image.non_max_suppression_with_scores(BOXES, SCORES, 6, 0.9, 0.0, soft_nms_sigma=0.5)
    )
    assert indices.tolist() == [3, 0, 1, 5, 4, 2]
    fallen = np.exp(-((0.9 / 1.1) ** 2))
    np.testing.assert_allclose(scores[:3], [0.95, 0.9, 0.75 * fallen], rtol=1e-5)
    np.testing.assert_allclose(scores[4], 0.5 * fallen, rtol=1e-5)
    indices, scores = run(
        tf.image.non_max_suppression_with_scores(BOXES, SCORES, 6, 0.5, 0.0, soft_nms_sigma=0.5)
    )
    assert indices.tolist() == [3, 0, 5]


def test_padded_to_the_size_that_was_asked_for() -> None:
    indices, scores, count = tf.raw_ops.NonMaxSuppressionV5(
        boxes=BOXES,
        scores=SCORES,
        max_output_size=5,
        iou_threshold=0.5,
        score_threshold=0.0,
        soft_nms_sigma=0.0,
        pad_to_max_output_size=True,
    )
    assert indices.shape == scores.shape == [5]
    values = run([indices, scores, count])
    assert values[0].tolist() == [3, 0, 5, 0, 0]
    assert values[2] == 3


def test_each_class_has_its_own_and_images_the_best_of_all() -> None:
    boxes = BOXES[None, :, None] * np.float32(0.01)
    scores = np.stack([SCORES, SCORES[::-1]], -1)[None]
    made = tf.image.combined_non_max_suppression(boxes, scores, 2, 5)
    assert made.nmsed_boxes.shape == [1, 5, 4]
    assert made.valid_detections.shape == [1]
    values = run(list(made))
    np.testing.assert_allclose(values[1], [[0.95, 0.95, 0.9, 0.9, 0]])
    assert values[2].tolist() == [[0, 1, 0, 1, 0]]
    assert values[3].tolist() == [4]
    np.testing.assert_allclose(values[0][0, 3], [0, 1, 0.01, 1])
    padded = tf.image.combined_non_max_suppression(
        boxes, scores, 2, 5, pad_per_class=True, clip_boxes=False
    )
    assert padded.nmsed_scores.shape == [1, 4]
    np.testing.assert_allclose(run(padded.nmsed_boxes)[0, 3], [0, 1, 0.01, 1.01])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: tf.image.non_max_suppression_overlaps(np.eye(2), [0.1], 1),
            r"overlaps must be \[1, 1\]",
        ),
        (
            lambda: tf.image.non_max_suppression_with_scores(BOXES, SCORES, -1),
            "max_output_size must not be negative, got -1",
        ),
        (
            lambda: tf.image.non_max_suppression_with_scores(BOXES, SCORES, 1, soft_nms_sigma=-1.0),
            "soft_nms_sigma must not be negative",
        ),
        (
            lambda: tf.image.combined_non_max_suppression(
                BOXES[None, :, None], np.zeros([1, 5, 2], np.float32), 1, 1
            )[0],
            r"boxes must be \[1, 5, 1 or 2, 4\]",
        ),
    ],
    ids=["overlaps", "size", "sigma", "boxes"],
)
def test_what_does_not_fit_is_refused(make: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(make())
