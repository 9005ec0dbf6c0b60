"""``tensorflow.python.estimator.gc``: which of the exports in a folder are kept.

A filter takes a list of `Path` and returns those to keep, sorted.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import compat, gfile

__all__ = [
    "Path",
    "get_paths",
    "largest_export_versions",
    "mod_export_version",
    "negation",
    "one_of_every_n_export_versions",
    "union",
]


class Path(NamedTuple):
    """A path, and the number of the export there; None where it has none."""

    path: str
    export_version: int | None


Filter = Callable[[list[Path]], list[Path]]


def largest_export_versions(n: int) -> Filter:
    """Keeps the ``n`` largest numbers."""

    def keep(paths: list[Path]) -> list[Path]:
        numbered = [
            (p.export_version, i) for i, p in enumerate(paths) if p.export_version is not None
        ]
        return sorted(paths[i] for _, i in heapq.nlargest(n, numbered))

    return keep


def one_of_every_n_export_versions(n: int) -> Filter:
    """Keeps the largest number of each interval [0, n], (n, 2 n], (2 n, 3 n] ..."""

    def keep(paths: list[Path]) -> list[Path]:
        largest: dict[int, Path] = {}
        for path in paths:
            version = path.export_version
            if version is None:
                continue
            interval = max(version - 1, 0) // n
            found = largest.get(interval)
            if found is None or found.export_version < version:  # type: ignore[operator]
                largest[interval] = path
        return sorted(largest.values())

    return keep


def mod_export_version(n: int) -> Filter:
    """Keeps multiples of ``n``."""
    return lambda paths: sorted(p for p in paths if p.export_version % n == 0)  # type: ignore[operator]


def union(lf: Filter, rf: Filter) -> Filter:
    """Keeps what one of two filters keeps."""
    return lambda paths: sorted({*lf(paths), *rf(paths)})


def negation(f: Filter) -> Filter:
    """Keeps what the filter does not."""
    return lambda paths: sorted({*paths} - {*f(paths)})


def get_paths(base_dir: Any, parser: Callable[[Path], Path | None]) -> list[Path]:
    """What is in a folder, sorted; ``parser`` gives each its number, or None to leave it out."""
    folder = compat.as_str_any(base_dir)
    names = [compat.as_str_any(name).rstrip("/") for name in gfile.ListDirectory(folder)]
    found = [parser(Path(os.path.join(folder, name), None)) for name in names]
    return sorted(path for path in found if path)


_largest_export_versions = largest_export_versions
_one_of_every_n_export_versions = one_of_every_n_export_versions
_mod_export_version = mod_export_version
_union = union
_negation = negation
_get_paths = get_paths
