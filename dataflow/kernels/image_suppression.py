"""Kernels that choose boxes by score so that no two overlap too much."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.image_boxes import best_boxes, corners_of, overlaps_of
from dataflow.kernels.registry import kernel

_REASON = "written for the host"


def _count(size: Any, what: str) -> int:
    if int(size) < 0:
        raise ValueError(f"{what} must not be negative, got {int(size)}")
    return int(size)


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
        chosen = best_boxes(boxes, scores, most, iou_threshold, score_threshold)
        kept = scores[chosen]
    count = np.array(len(chosen), np.int32)
    if pad_to_max_output_size:
        chosen, kept = (np.pad(a, (0, most - len(a))) for a in (chosen, kept))
    return chosen, kept.astype(scores.dtype), count


def _softly(
    boxes: Any, scores: Any, most: int, iou_threshold: float, score_threshold: float, sigma: float
) -> tuple[Any, Any]:
    """Boxes and their scores at the time; a score is lowered only when its box is the best one left."""
    corners = corners_of(boxes)
    # (falling score, index, how many chosen boxes have lowered it)
    left = [(-float(s), i, 0) for i, s in enumerate(scores) if s > score_threshold]
    heapq.heapify(left)
    chosen: list[int] = []
    kept: list[float] = []
    while left and len(chosen) < most:
        negative, i, seen = heapq.heappop(left)
        score = -negative
        overlaps = overlaps_of(corners[:, chosen[seen:]], corners[:, [i]])[:, 0]
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
            chosen = best_boxes(own, scores[b, :, c], each, iou_threshold, score_threshold)
            best += [(float(scores[b, i, c]), c, i) for i in chosen.tolist()]
        best = sorted(best, key=lambda item: -item[0])[:size]
        counts[b] = len(best)
        for row, (score, c, i) in enumerate(best):
            box = boxes[b, i, c if boxes.shape[2] > 1 else 0]
            found[b, row] = np.clip(box, 0, 1) if clip_boxes else box
            kept[b, row], kinds[b, row] = score, c
    return found, kept, kinds, counts
