"""Samples of every op, one file for each family of ops."""

from __future__ import annotations

import importlib
import pathlib

from tests.samples.base import Sample


def all_samples() -> list[Sample]:
    """The samples of all families, in the order of the files."""
    result: list[Sample] = []
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem not in ("__init__", "base"):
            result.extend(importlib.import_module(f"tests.samples.{path.stem}").SAMPLES)
    return result
