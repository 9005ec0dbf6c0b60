"""Stands before the package of this name where Ray is imported, and loads it when it is called.

Ray imports jsonschema, and jsonschema this package, where Jupyter has installed it: its parser of
internationalized addresses takes 1.3 s of a processor to build, in the notebook, in Ray's two
agents and in every task, where nobody ever parses one. `dataflow.cluster.management.private_ray` puts this
file's directory first on the path that Ray's processes are started with; it holds nothing else.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

_here = os.path.dirname(os.path.abspath(__file__))
_spec = PathFinder.find_spec(
    "rfc3987_syntax", [path for path in sys.path if os.path.abspath(path) != _here]
)
if _spec is None or _spec.loader is None:  # jsonschema does without
    raise ModuleNotFoundError("No module named 'rfc3987_syntax'", name="rfc3987_syntax")

#: Where its submodules are, for those who import one.
__path__ = list(_spec.submodule_search_locations or ())


@functools.cache
def _package() -> ModuleType:
    assert _spec is not None and _spec.loader is not None
    package = module_from_spec(_spec)
    sys.modules["rfc3987_syntax"] = package  # its own submodules import it by this name
    _spec.loader.exec_module(package)
    return package


def is_valid_syntax(term: str, value: str) -> Any:
    """Ask the package: this is the one name that jsonschema takes from it."""
    return _package().is_valid_syntax(term, value)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # the import system looks for such, and must not load anything
        raise AttributeError(name)
    return getattr(_package(), name)
