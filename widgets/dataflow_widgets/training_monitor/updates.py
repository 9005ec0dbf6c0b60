"""What a page is sent of the runs of a monitor: a header and two binary buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataflow_widgets.training_monitor.runs import Run
from dataflow_widgets.training_monitor.summaries import SLICE_LENGTH


def update(runs: Sequence[Run], whole: bool) -> tuple[dict[str, Any], bytes, bytes]:
    """What changed (or all): a header, float64 numbers, and the bytes of images.

    What is given here counts as sent: the next update leaves it out.
    """
    numbers: list[np.ndarray] = []
    pixels: list[bytes] = []
    states = [run.state() for run in runs]
    message = {
        "kind": "update",
        "whole": whole,
        "runs": states,
        "curves": [row for run in runs for row in _curves(run, whole, numbers)],
        "histograms": [row for run in runs for row in _histograms(run, whole, numbers)],
        "sliceLength": SLICE_LENGTH,
        "confusions": [row for run in runs for row in _confusions(run, whole, numbers)],
        "samples": [row for run in runs for row in _samples(run, whole, pixels)],
    }
    return message, b"".join(a.tobytes() for a in numbers), b"".join(pixels)


def _curves(run: Run, whole: bool, numbers: list[np.ndarray]) -> Iterator[dict[str, Any]]:
    """The new points of each curve, which go to ``numbers``; so in the functions below."""
    for name, curve in run.curves.items():
        start = 0 if whole else curve.changed_from
        if start >= len(curve):
            continue
        rows = curve.rows(start)
        curve.changed_from = len(curve)
        numbers.append(rows)
        yield {
            "run": run.name,
            "name": name,
            "from": start,
            "rows": len(rows),
            "stride": curve.stride,
            "bad": curve.num_bad,
            "firstBad": curve.first_bad,
        }


def _histograms(run: Run, whole: bool, numbers: list[np.ndarray]) -> Iterator[dict[str, Any]]:
    for name, each in run.histograms.items():
        if whole or each.changed:
            each.changed = False
            table = each.table()
            numbers.append(table)
            yield {"run": run.name, "name": name, "slices": len(table)}


def _confusions(run: Run, whole: bool, numbers: list[np.ndarray]) -> Iterator[dict[str, Any]]:
    if run.confusion is not None and (whole or run.confusion_changed):
        run.confusion_changed = False
        numbers.append(run.confusion.counts.astype(np.float64))
        yield {"run": run.name, "names": run.confusion.names, "step": run.confusion.step}


def _samples(run: Run, whole: bool, pixels: list[bytes]) -> Iterator[dict[str, Any]]:
    if run.samples is not None and (whole or run.samples_changed):
        run.samples_changed = False
        images = run.samples.images
        if images is not None:
            pixels.append(images.tobytes())
        yield {
            "run": run.name,
            "step": run.samples.step,
            "predicted": run.samples.predicted,
            "true": run.samples.true,
            "texts": run.samples.texts,
            "shape": None if images is None else list(images.shape),
        }
