"""Boxes chosen by score so that no two overlap too much."""

from __future__ import annotations

import collections
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import FLOAT
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.pad import pad
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims

CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections"
)


@define_op(
    "NonMaxSuppressionV3",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold -> selected_indices: int32",
    T=FLOAT,
    T_threshold=FLOAT,
)
def non_max_suppression_op(
    boxes: Tensor,
    scores: Tensor,
    max_output_size: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
) -> Dims:
    """Boxes of highest score that overlap no chosen one by more than the threshold.

    Not differentiable.
    """
    need_rank(boxes, 2, "boxes")
    need_rank(scores, 1, "scores")
    return (None,)


@define_op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, "
    "soft_nms_sigma: T -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    T=FLOAT,
)
def non_max_suppression_v5_op(
    boxes: Tensor,
    scores: Tensor,
    max_output_size: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
    soft_nms_sigma: Tensor,
    *,
    pad_to_max_output_size: bool = False,
) -> list[Dims]:
    """As NonMaxSuppressionV3, with the scores; a positive sigma lowers those of boxes that overlap
    (Bodla et al. 2017). Not differentiable.
    """
    need_rank(boxes, 2, "boxes")
    need_rank(scores, 1, "scores")
    most = static_value(max_output_size) if pad_to_max_output_size else None
    count = (None if most is None else int(most),)
    return [count, count, ()]


@define_op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32, "
    "score_threshold: float32 -> selected_indices: int32",
)
def non_max_suppression_with_overlaps_op(
    overlaps: Tensor,
    scores: Tensor,
    max_output_size: Tensor,
    overlap_threshold: Tensor,
    score_threshold: Tensor,
) -> Dims:
    """As NonMaxSuppressionV3, with a matrix that tells how much boxes overlap. Not differentiable."""
    need_rank(overlaps, 2, "overlaps")
    need_rank(scores, 1, "scores")
    return (None,)


@define_op(
    "CombinedNonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32, "
    "iou_threshold: float32, score_threshold: float32 -> nmsed_boxes: float32, "
    "nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
)
def combined_non_max_suppression_op(
    boxes: Tensor,
    scores: Tensor,
    max_output_size_per_class: Tensor,
    max_total_size: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
    *,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> list[Dims]:
    """The best boxes of each class, and of those the best of each image. Not differentiable."""
    need_rank(boxes, 4, "boxes")
    need_rank(scores, 3, "scores")
    batch = None if boxes.dims is None else boxes.dims[0]
    total = static_value(max_total_size)
    size = None if total is None else int(total)
    if pad_per_class:
        each = static_value(max_output_size_per_class)
        classes = None if scores.dims is None else scores.dims[2]
        known = size is not None and each is not None and classes is not None
        size = min(size, int(each) * classes) if known else None  # type: ignore[type-var, operator]
    return [(batch, size, 4), (batch, size), (batch, size), (batch,)]


not_differentiable(
    non_max_suppression_op,
    non_max_suppression_v5_op,
    non_max_suppression_with_overlaps_op,
    combined_non_max_suppression_op,
)


def _float(value: Any, name: str) -> Tensor:
    return convert_to_tensor(value, dtypes.float32, name=name)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Indices of boxes by falling score, without those that overlap a chosen one too much."""
    with op_scope(name, "non_max_suppression"):
        boxes = convert_to_tensor(boxes, name="boxes")
        return non_max_suppression_op(  # type: ignore[no-any-return]
            boxes,
            scores,
            max_output_size,
            _float(iou_threshold, "iou_threshold"),
            _float(score_threshold, "score_threshold"),
        )


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """``(indices, count)`` of `non_max_suppression`.

    With ``pad_to_max_output_size`` the indices are filled up with zeros to [max_output_size]; ``count``
    says how many are meant.
    """
    with op_scope(name, "non_max_suppression_padded"):
        chosen = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
        count = shape(chosen)[0]
        if pad_to_max_output_size:
            most = convert_to_tensor(max_output_size)
            chosen = pad(chosen, [[0, most - count]])
            size = static_value(most)
            chosen.set_shape([None if size is None else int(size)])
        return chosen, count


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """``(indices, scores)`` of the boxes that `non_max_suppression` chooses.

    With ``soft_nms_sigma`` the score of a box falls, by exp(-iou**2 / (2 sigma)), for each chosen one that
    it overlaps, rather than that it is left out.
    """
    with op_scope(name, "non_max_suppression_with_scores"):
        indices, kept, _ = non_max_suppression_v5_op(
            boxes,
            scores,
            max_output_size,
            _float(iou_threshold, "iou_threshold"),
            _float(score_threshold, "score_threshold"),
            _float(soft_nms_sigma, "soft_nms_sigma"),
        )
        return indices, kept


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Indices by falling score, without those that ``overlaps`` [n, n] says overlap a chosen one."""
    with op_scope(name, "non_max_suppression_overlaps"):
        return non_max_suppression_with_overlaps_op(  # type: ignore[no-any-return]
            overlaps,
            scores,
            max_output_size,
            _float(overlap_threshold, "overlap_threshold"),
            _float(score_threshold, "score_threshold"),
        )


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of a batch of images, class by class, and how many of the rows are boxes.

    ``boxes``: [batch, boxes, classes or 1, (y1, x1, y2, x2)]; ``scores``: [batch, boxes, classes]. The rows
    behind the last box are zeros. ``clip_boxes`` keeps the corners between 0 and 1.
    """
    with op_scope(name, "combined_non_max_suppression"):
        return CombinedNonMaxSuppression(
            *combined_non_max_suppression_op(
                boxes,
                scores,
                max_output_size_per_class,
                max_total_size,
                _float(iou_threshold, "iou_threshold"),
                _float(score_threshold, "score_threshold"),
                pad_per_class=pad_per_class,
                clip_boxes=clip_boxes,
            )
        )
