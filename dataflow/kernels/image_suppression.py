"""Kernels that choose boxes by score so that no two overlap too much."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

_REASON = "written for the host"


def _count(size: Any, what: str) -> int:
    if int(size) < 0:
        raise ValueError(f"{what} must not be negative, got {int(size)}")
    return int(size)


@kernel("NonMaxSuppressionV3", cpu_only=_REASON)
def non_max_suppression_kernel(
    xp: Any, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any, score_threshold: Any
) -> Any:
    return _best_boxes(boxes, scores, int(max_output_size), iou_threshold, score_threshold)


def _best_boxes(
    boxes: Any, scores: Any, most: int, iou_threshold: Any, score_threshold: Any
) -> Any:
    """Indices (int32) by falling score, without boxes that overlap a chosen one too much."""
    if not 0 <= iou_threshold <= 1:
        raise ValueError(f"iou_threshold must be in [0, 1], got {iou_threshold}")
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > score_threshold]
    corners = _corners_of(boxes[order])
    chosen = np.empty(0, np.int64)  # places in `order`
    for start in range(0, len(order), _BOXES_AT_ONCE):
        if len(chosen) >= most:
            break
        block = corners[:, start : start + _BOXES_AT_ONCE]
        free = ~(_overlaps_of(corners[:, chosen], block) > iou_threshold).any(0)
        found = []
        hides = _overlaps_of(block, block) > iou_threshold
        for i in np.flatnonzero(free).tolist():
            if free[i]:
                found.append(start + i)
                free &= ~hides[i]
        chosen = np.concatenate([chosen, np.array(found, np.int64)])
    return order[chosen[:most]].astype(np.int32)


#: How many boxes, the best of those left, are compared with each other in one go.
_BOXES_AT_ONCE = 128


def _corners_of(boxes: Any) -> Any:
    """[5, n]: the lower corners' y and x, the upper corners' y and x, areas."""
    sides = boxes.T
    low, high = np.minimum(sides[:2], sides[2:]), np.maximum(sides[:2], sides[2:])
    return np.concatenate([low, high, (high - low).prod(0, keepdims=True)])


def _overlaps_of(first: Any, second: Any) -> Any:
    """Intersection over union of each of ``first`` with each of ``second``.

    Both are as `_corners_of` gives them.
    """
    a, b = first[:, :, None], second[:, None, :]
    shared = np.clip(np.minimum(a[2], b[2]) - np.maximum(a[0], b[0]), 0, None)
    shared *= np.clip(np.minimum(a[3], b[3]) - np.maximum(a[1], b[1]), 0, None)
    union = a[4] + b[4] - shared
    return np.where(union > 0, shared / np.where(union > 0, union, 1), 0)


@kernel("NonMaxSuppressionV5", cpu_only=_REASON)
def non_max_suppression_v5_kernel(
    xp: Module,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    soft_nms_sigma: Array,
    *,
    pad_to_max_output_size: bool,
) -> Any:
    most = _count(max_output_size, "max_output_size")
    if soft_nms_sigma < 0:
        raise ValueError(f"soft_nms_sigma must not be negative, got {float(soft_nms_sigma)}")
    if soft_nms_sigma > 0:
        chosen, kept = _softly(
            boxes, scores, most, float(iou_threshold), float(score_threshold), float(soft_nms_sigma)
        )
    else:
        chosen = _best_boxes(boxes, scores, most, iou_threshold, score_threshold)
        kept = scores[chosen]
    count = np.array(len(chosen), np.int32)
    if pad_to_max_output_size:
        chosen, kept = (np.pad(a, (0, most - len(a))) for a in (chosen, kept))
    return chosen, kept.astype(scores.dtype), count


def _softly(
    boxes: Any, scores: Any, most: int, iou_threshold: float, score_threshold: float, sigma: float
) -> tuple[Any, Any]:
    """Boxes and their scores at the time; a score is lowered only when its box is the best one left."""
    corners = _corners_of(boxes)
    # (falling score, index, how many chosen boxes have lowered it)
    left = [(-float(s), i, 0) for i, s in enumerate(scores) if s > score_threshold]
    heapq.heapify(left)
    chosen: list[int] = []
    kept: list[float] = []
    while left and len(chosen) < most:
        negative, i, seen = heapq.heappop(left)
        score = -negative
        overlaps = _overlaps_of(corners[:, chosen[seen:]], corners[:, [i]])[:, 0]
        for overlap in overlaps.tolist()[::-1]:
            score *= math.exp(-overlap * overlap / (2 * sigma)) if overlap <= iou_threshold else 0.0
        if score == -negative:
            chosen.append(i)
            kept.append(score)
        elif score > score_threshold:
            heapq.heappush(left, (-score, i, len(chosen)))
    return np.array(chosen, np.int32), np.array(kept, scores.dtype)


@kernel("NonMaxSuppressionWithOverlaps", cpu_only=_REASON)
def non_max_suppression_with_overlaps_kernel(
    xp: Module,
    overlaps: Array,
    scores: Array,
    max_output_size: Array,
    overlap_threshold: Array,
    score_threshold: Array,
) -> Any:
    if overlaps.shape != (len(scores), len(scores)):
        raise ValueError(
            f"overlaps must be [{len(scores)}, {len(scores)}] for {len(scores)} scores, got "
            f"{list(overlaps.shape)}"
        )
    most = _count(max_output_size, "max_output_size")
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        if len(chosen) >= most or not scores[i] > score_threshold:
            break
        if not (overlaps[i, chosen] > overlap_threshold).any():
            chosen.append(i)
    return np.array(chosen, np.int32)


@kernel("CombinedNonMaxSuppression", cpu_only=_REASON)
def combined_non_max_suppression_kernel(
    xp: Module,
    boxes: Array,
    scores: Array,
    max_output_size_per_class: Array,
    max_total_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> Any:
    batch, number, classes = scores.shape
    if boxes.shape[:2] != (batch, number) or boxes.shape[2:] not in ((1, 4), (classes, 4)):
        raise ValueError(
            f"boxes must be [{batch}, {number}, 1 or {classes}, 4] for scores {list(scores.shape)}, got "
            f"{list(boxes.shape)}"
        )
    each = _count(max_output_size_per_class, "max_output_size_per_class")
    total = _count(max_total_size, "max_total_size")
    size = min(total, each * classes) if pad_per_class else total
    found = np.zeros((batch, size, 4), np.float32)
    kept, kinds = np.zeros((batch, size), np.float32), np.zeros((batch, size), np.float32)
    counts = np.zeros(batch, np.int32)
    for b in range(batch):
        best: list[tuple[float, int, int]] = []
        for c in range(classes):
            own = boxes[b, :, c if boxes.shape[2] > 1 else 0]
            chosen = _best_boxes(own, scores[b, :, c], each, iou_threshold, score_threshold)
            best += [(float(scores[b, i, c]), c, i) for i in chosen.tolist()]
        best = sorted(best, key=lambda item: -item[0])[:size]
        counts[b] = len(best)
        for row, (score, c, i) in enumerate(best):
            box = boxes[b, i, c if boxes.shape[2] > 1 else 0]
            found[b, row] = np.clip(box, 0, 1) if clip_boxes else box
            kept[b, row], kinds[b, row] = score, c
    return found, kept, kinds, counts
