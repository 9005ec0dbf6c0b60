"""Where the names of TensorFlow's private modules are here (``tensorflow.python.ops.math_ops``).

Programs of TensorFlow 1's time import such modules though they were never public. Each is a line of
the table: its path below ``tensorflow``, and the modules of this engine that its names come from, in the
order in which they are searched. `install` lets ``import dataflow.python.ops.math_ops`` find them.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
from collections.abc import Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from dataflow.namespaces import absent, provide_names
from dataflow.python.library_paths import LIBRARY_TABLE
from dataflow.python.path_table import KERAS, MODULES_WITHIN, TABLE, TREES

_ROOT = "dataflow."
#: Where the table's modules are.
_WITH_PRIVATE_MODULES = tuple(
    f"dataflow.{name}." for name in ("python", "contrib", "keras", "core", "tools")
)
#: A package with one of these in its path is nobody's but the table's.
_OF_TENSORFLOW = {"python", "core", "tools", "api"}

#: The names of Python's own functions that ``import *`` does take from a module of TensorFlow's, by path.
_LIKE_BUILTINS = {
    "python.ops.array_ops": {"slice"},
    "python.ops.control_flow_ops": {"exit", "tuple"},
    "python.ops.gen_math_ops": {"round"},
    "python.ops.math_ops": {"abs", "complex", "pow", "range", "round"},
    "python.ops.standard_ops": {"abs", "complex", "pow", "range", "round", "slice", "tuple"},
}


@cache
def homes() -> dict[str, tuple[str, ...]]:
    """The table: path below ``tensorflow`` -> the modules that its names come from."""
    table: dict[str, tuple[str, ...]] = {path: tuple(home.split()) for path, home in KERAS.items()}
    for line in (TABLE + LIBRARY_TABLE).strip().splitlines():
        if not line:
            continue
        path, _, modules = line.partition(" : ")
        stem, brace, rest = path.partition("{")
        words, _, tail = rest.partition("}")
        for word in words.split() if brace else ("",):
            table[stem + word + tail] = tuple(modules.split())
    return table


@cache
def _packages() -> frozenset[str]:
    """Every path that has others below it: ``contrib.layers.python``, and ``contrib.layers`` itself."""
    found = set()
    for path in (*homes(), *TREES):
        while path := path.rpartition(".")[0]:
            found.add(path)
    return frozenset(found)


def _same(path: str) -> str | None:
    """The module that ``path`` is a second name of: its one home, under the same last name."""
    found = homes().get(path, ())
    if len(found) != 1 or path in _packages():
        return None
    return found[0] if found[0].rpartition(".")[2] == path.rpartition(".")[2] else None


def moved(path: str) -> str | None:
    """Where the whole tree that ``path`` is in stands here; None where it is in none."""
    for tree in sorted(TREES, key=len, reverse=True):
        if path == tree or path.startswith(tree + "."):
            return TREES[tree] + path.removeprefix(tree)
    return None


class GatheredModule(ModuleType):
    """A private module of TensorFlow's: its names are looked up in the modules that have them here."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [public for public in dir(self) if not self._is_pythons(public)]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        path = f"{self.__name__.removeprefix(_ROOT)}.{name}"
        if path.startswith("python.") and path in homes():
            # TensorFlow's packages hold their modules, `python.saved_model.simple_save`, rather than what is in them.
            return importlib.import_module(_ROOT + path)
        for home in _homes_of(self.__name__):
            value = getattr(home, name, self)
            if value is not self:
                return value
        if path in homes() or path in _packages():
            return importlib.import_module(_ROOT + path)
        # TensorFlow's modules have each other as names: `python.ops.rnn.rnn_cell_impl`.
        own = path.rpartition(".")[0].rpartition(".")[0]
        for package in (own, "python.framework", "python.ops"):
            if f"{package}.{name}" in homes():
                return importlib.import_module(f"{_ROOT}{package}.{name}")
        raise absent(self.__name__, name, dir(self))

    def _is_pythons(self, name: str) -> bool:
        """Whether ``import *`` must leave a name to Python: `print`, `sum`, the module `random`."""
        if hasattr(builtins, name):
            return name not in _LIKE_BUILTINS.get(self.__name__.removeprefix(_ROOT), ())
        return name in sys.stdlib_module_names and not callable(getattr(self, name))

    def __dir__(self) -> list[str]:
        found = {name for home in _homes_of(self.__name__) for name in dir(home)}
        return sorted(name for name in found if not name.startswith("_"))


def _homes_of(module: str) -> list[ModuleType]:
    found = []
    for home in homes().get(module.removeprefix(_ROOT), ()):
        name = "dataflow" if home == "tf" else _ROOT + home
        try:
            found.append(importlib.import_module(name))
        except ImportError as error:
            if error.name is None or not name.startswith(error.name):
                raise  # a package that the module needs is not installed
    return found


class _Gather(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return GatheredModule(spec.name, f"TensorFlow's {spec.name.removeprefix(_ROOT)}.")

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: names are looked up when they are used."""


class Alias(Loader):
    """Loads a module under a second name: both names hold one module."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the second name's there


class _Finder(MetaPathFinder):
    """Finds the modules of the table below ``dataflow``; files come first."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(_WITH_PRIVATE_MODULES):
            return None
        relative = fullname.removeprefix(_ROOT)
        if (
            tree := moved(relative)
        ) is not None:  # before files: its parent's folder is the other's
            return ModuleSpec(fullname, Alias(_ROOT + tree), is_package=True)
        real = PathFinder.find_spec(fullname, path)
        if real is not None:
            if relative in _packages() and real.submodule_search_locations is None:
                real.submodule_search_locations = []  # contrib/layers.py has contrib.layers.python
            return real
        if (home := _same(relative)) is not None:
            return ModuleSpec(fullname, Alias(_ROOT + home))
        if relative in homes() or (
            relative in _packages() and _OF_TENSORFLOW & {*relative.split(".")}
        ):
            return ModuleSpec(fullname, _Gather(), is_package=True)
        return None


def _within(paths: dict[str, str], name: str) -> ModuleType | None:
    return importlib.import_module(f"{_ROOT}python.{paths[name]}") if name in paths else None


def install() -> None:
    """Lets imports find the modules of the table; a second call changes nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        for module, paths in MODULES_WITHIN.items():
            provide_names(module, functools.partial(_within, paths))
        for path in _packages():
            loaded = sys.modules.get(_ROOT + path)
            if loaded is not None and not hasattr(loaded, "__path__"):
                loaded.__path__ = []  # as the finder does, where it comes first
