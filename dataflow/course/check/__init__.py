"""The checks of the lessons: ``check.lesson05.ex2(answer)``. A module per lesson, loaded when used."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def lessons() -> list[str]:
    """Names of the lessons and capstones that have checks, in order."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__))
    return [n for n in names if n.startswith("lesson")] + [
        n for n in names if n.startswith("capstone")
    ]


def __getattr__(name: str) -> Any:
    if name in lessons():
        return importlib.import_module(f"{__name__}.{name}")
    if name.startswith(("lesson", "capstone")):
        raise AttributeError(
            f"there are no checks called {name!r}; there are {', '.join(lessons())}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *lessons()]
