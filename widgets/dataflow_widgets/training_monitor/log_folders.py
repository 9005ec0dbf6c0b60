"""Curves that were written for TensorBoard, read from their files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

Points = dict[float, dict[str, float]]


def read_runs(folder: str | os.PathLike[str]) -> dict[str, Points]:
    """The scalars of each run below ``folder``, by step: a run is a folder with event files, as in TensorBoard.

    A file that is still written to is read as far as it goes. Raises `FileNotFoundError` where no
    folder or no event file is.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {str(root)!r} (looked from {os.getcwd()})")
    files = sorted(root.rglob("*.tfevents.*"))
    if not files:
        raise FileNotFoundError(
            f"no event files are in {str(root)!r}: tf.summary.FileWriter writes them there, when it "
            "is flushed or closed"
        )
    runs: dict[str, Points] = {}
    for path in files:
        inside = path.parent.relative_to(root).as_posix()
        points = runs.setdefault(root.resolve().name if inside == "." else inside, {})
        for step, name, value in _scalars(path):
            points.setdefault(step, {})[name] = value
    return {name: dict(sorted(points.items())) for name, points in runs.items()}


def _scalars(path: Path) -> Any:
    """(step, name, value) of each scalar in a file."""
    from dataflow.errors import DataLossError
    from dataflow.formats.event_files import read_events

    try:
        for event in read_events(path):
            for value in event.summary.value:
                if value.WhichOneof("value") == "simple_value":
                    yield float(event.step), value.tag, float(value.simple_value)
                elif value.WhichOneof("value") == "tensor" and not value.tensor.tensor_shape.dim:
                    for number in (*value.tensor.float_val, *value.tensor.double_val):
                        yield float(event.step), value.tag, float(number)
    except DataLossError:  # its last record is being written
        return
