"""What a data set is, where its files come from, and the list of all sets.

Each set has a module of its own whose ``INFO`` says where its files come from; the registry only
knows their names, so that listing them imports neither pandas nor scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

NAMES = (
    "analogies",
    "books",
    "census",
    "diabetes",
    "digits",
    "housing",
    "iris",
    "mnist",
    "movie_reviews",
    "python_manual",
    "synthetic",
    "text8",
    "wine",
)


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set.

    ``folder/name`` is its place under ``DATAFLOW_DATA`` and under the user cache. ``sha256`` and
    ``size_bytes`` belong to the file as stored there, that is, to the ``member`` taken out of a zip
    archive where ``member`` is given. ``urls`` are tried in order.
    """

    folder: str
    name: str
    urls: tuple[str, ...]
    sha256: str
    size_bytes: int
    member: str | None = None

    @property
    def relative_path(self) -> str:
        """``folder/name``, with forward slashes."""
        return f"{self.folder}/{self.name}"


@dataclass(frozen=True)
class DatasetInfo:
    """A data set: its name, one line on what it holds, its license, and its files.

    ``files`` is empty for sets that need no download.
    """

    name: str
    title: str
    license: str
    files: tuple[RemoteFile, ...] = ()


def list_datasets() -> list[str]:
    """Names of all data sets, in alphabetical order."""
    return list(NAMES)


def module(name: str) -> Any:
    """The module of the data set ``name``.

    Raises:
        KeyError: there is no such set; the message lists those there are.
    """
    if name not in NAMES:
        raise KeyError(f"No data set is called {name!r}. There are: {', '.join(NAMES)}.")
    return import_module(f"{__package__}.{name}")


def info(name: str) -> DatasetInfo:
    """The `DatasetInfo` of the set ``name``."""
    found: DatasetInfo = module(name).INFO
    return found


def card(name: str) -> str:
    """The set's data card as Markdown: source, license, columns, units, rows."""
    if name not in NAMES:
        raise KeyError(f"No data set is called {name!r}. There are: {', '.join(NAMES)}.")
    return (Path(__file__).parent / "cards" / f"{name}.md").read_text(encoding="utf-8")


def load(name: str, **arguments: Any) -> Any:
    """Call the ``load_data`` of the set ``name``; see its card for what comes back."""
    return module(name).load_data(**arguments)
