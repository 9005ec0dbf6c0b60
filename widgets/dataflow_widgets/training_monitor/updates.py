"""What a page is sent of the runs of a monitor: a header and two binary buffers."""

from __future__ import annotations

from collections.abc import Sequence
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
    curves, histograms, matrices, shown = [], [], [], []
    states = [run.state() for run in runs]
    for run in runs:
        for name, curve in run.curves.items():
            start = 0 if whole else curve.changed_from
            if start >= len(curve):
                continue
            rows = curve.rows(start)
            curve.changed_from = len(curve)
            numbers.append(rows)
            curves.append(
                {
                    "run": run.name,
                    "name": name,
                    "from": start,
                    "rows": len(rows),
                    "stride": curve.stride,
                    "bad": curve.num_bad,
                    "firstBad": curve.first_bad,
                }
            )
    for run in runs:
        for name, each in run.histograms.items():
            if whole or each.changed:
                each.changed = False
                table = each.table()
                numbers.append(table)
                histograms.append({"run": run.name, "name": name, "slices": len(table)})
    for run in runs:
        if run.confusion is not None and (whole or run.confusion_changed):
            run.confusion_changed = False
            numbers.append(run.confusion.counts.astype(np.float64))
            matrices.append(
                {
                    "run": run.name,
                    "names": run.confusion.names,
                    "step": run.confusion.step,
                }
            )
        if run.samples is not None and (whole or run.samples_changed):
            run.samples_changed = False
            images = run.samples.images
            if images is not None:
                pixels.append(images.tobytes())
            shown.append(
                {
                    "run": run.name,
                    "step": run.samples.step,
                    "predicted": run.samples.predicted,
                    "true": run.samples.true,
                    "texts": run.samples.texts,
                    "shape": None if images is None else list(images.shape),
                }
            )
    message = {
        "kind": "update",
        "whole": whole,
        "runs": states,
        "curves": curves,
        "histograms": histograms,
        "sliceLength": SLICE_LENGTH,
        "confusions": matrices,
        "samples": shown,
    }
    return message, b"".join(a.tobytes() for a in numbers), b"".join(pixels)
