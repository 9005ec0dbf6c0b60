"""``tensorflow.python.util.all_util``: what modules say that they export."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["make_all", "remove_undocumented"]


def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """The public names of a module that is imported."""
    return sorted(n for n in vars(sys.modules[module_name]) if not n.startswith("_"))


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Iterable[str] | None = None,
    doc_string_modules: Any = None,
) -> None:
    """Leaves a module's names as they are: TensorFlow took away those that its manual did not name."""
