"""Decoders that work on whole arrays find what they find label by label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import ctc_decoders


def _beam_search(log_y: Any, beam_width: int) -> list[tuple[list[int], float]]:
    """One prefix and one label after the other, in a dictionary."""
    blank = log_y.shape[1] - 1
    beam: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -np.inf)}
    for frame in log_y:
        found: dict[tuple[int, ...], list[float]] = {}
        for prefix, (ends_blank, ends_label) in beam.items():
            total = np.logaddexp(ends_blank, ends_label)
            entry = found.setdefault(prefix, [-np.inf, -np.inf])
            entry[0] = np.logaddexp(entry[0], total + frame[blank])
            last = prefix[-1] if prefix else -1
            if prefix:
                entry[1] = np.logaddexp(entry[1], ends_label + frame[last])
            for label in range(blank):
                grown = (ends_blank if label == last else total) + frame[label]
                if grown > -np.inf:
                    longer = found.setdefault((*prefix, label), [-np.inf, -np.inf])
                    longer[1] = np.logaddexp(longer[1], grown)
        ranked = sorted(found.items(), key=lambda item: -np.logaddexp(*item[1]))
        beam = {prefix: (p[0], p[1]) for prefix, p in ranked[:beam_width]}
    return [(list(prefix), float(np.logaddexp(*p))) for prefix, p in beam.items()]


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("beam_width", [1, 2, 5, 40])
@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])  # 0: all labels are equally probable
def test_beam_search(classes: int, beam_width: int, spread: float) -> None:
    rng = np.random.default_rng(classes + beam_width)
    for time in (0, 1, 2, 9):
        y = rng.standard_normal((time, classes)) * spread
        log_y = y - np.log(np.exp(y).sum(-1, keepdims=True))
        if time == 9:
            log_y[4, 0] = -np.inf
        with np.errstate(invalid="ignore"):
            assert ctc_decoders._search(log_y, beam_width) == _beam_search(log_y, beam_width)


@pytest.mark.parametrize("merge_repeated", [True, False])
def test_greedy_search(merge_repeated: bool) -> None:
    x = np.random.default_rng(0).standard_normal((9, 5, 3)).astype(np.float32)
    lengths = np.array([9, 0, 1, 5, 8], np.int32)
    indices, values, shape, scores = ctc_decoders.ctc_greedy_decoder_kernel(
        np, x, lengths, merge_repeated=merge_repeated, blank_index=-1
    )
    places, labels, longest = [], [], 0
    for b, length in enumerate(lengths.tolist()):
        best, path = x[:length, b].argmax(-1).tolist(), []
        for t, label in enumerate(best):
            if label != 2 and not (merge_repeated and t and best[t - 1] == label):
                path.append(label)
        places += [(b, i) for i in range(len(path))]
        labels += path
        longest = max(longest, len(path))
        np.testing.assert_allclose(scores[b, 0], -x[:length, b].max(-1).sum(), rtol=1e-6)
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(values, labels)
    np.testing.assert_array_equal(shape, [5, longest])
    assert indices.dtype == values.dtype == shape.dtype == np.int64
