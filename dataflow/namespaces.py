"""Namespaces whose parts are loaded when first named (``tf.python.client.timeline``)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from dataflow.extras import install

#: ``from module import name as public, ...``, on one line or in parentheses; nothing else is in a stub's
#: list, as a test asserts by reading the stubs with Python's own parser.
_IMPORT = re.compile(r"^from (\S+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)


def names_of_stub(text: str) -> dict[str, tuple[str, str]]:
    """Public names of a stub file: name -> (module, its name there)."""
    names: dict[str, tuple[str, str]] = {}
    for module, block, line in _IMPORT.findall(text):
        for item in (block or line).split(","):
            words = item.split()
            if words:
                names[words[-1]] = (module, words[0])
    return names


def attach_stub(
    module_name: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a module that only gathers names for users.

    The names stand once, as imports in the stub (``.pyi``) beside ``file``, which editors and type
    checkers read; here each is imported when it is first used (SPEC 1 of Scientific Python calls this
    lazy loading from stubs). A name that a submodule has too is imported at once: the import system
    would put the submodule in its place.
    """
    module = sys.modules[module_name]
    spec = module.__spec__
    assert isinstance(spec, ModuleSpec) and spec.loader is not None
    stub = str(Path(file).with_suffix(".pyi"))
    names = names_of_stub(spec.loader.get_data(stub).decode())  # type: ignore[attr-defined]

    def load(name: str) -> Any:
        home, attribute = names[name]
        parent = module if home == module_name else importlib.import_module(home)
        if parent is module or not hasattr(parent, attribute):
            value: Any = importlib.import_module(f"{home}.{attribute}")
        else:
            value = getattr(parent, attribute)
        if attribute == f"{name}_" and callable(value):  # `abs_` there, since Python has `abs`
            value.__name__ = value.__qualname__ = name
        setattr(module, name, value)
        return value

    def get_attribute(name: str) -> Any:
        if name in names:
            return load(name)
        if name.startswith("__"):
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        raise absent(module_name, name, names)

    for name, (home, _) in names.items():
        if home == f"{module_name}.{name}":
            load(name)
    return get_attribute, lambda: sorted(names), sorted(names)


def submodule(package: str, name: str) -> ModuleType:
    """The module ``package.name``; raises `AttributeError` when there is none."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return importlib.import_module(f"{package}.{name}")
    except ImportError as error:
        if error.name != f"{package}.{name}":
            raise
        raise absent(package, name) from error


def explain_absent(module: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: what to write instead of a name that is not in it."""

    def get_attribute(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise absent(module, name, dir(sys.modules[module]))

    return get_attribute


def also_from(module: str, package: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: names that TensorFlow has in it stand in another file of ``package``."""

    def get_attribute(name: str) -> Any:
        if not name.startswith("_"):
            found = getattr(importlib.import_module(package), name, module)
            if found is not module:
                return found
            raise absent(module, name, dir(sys.modules[module]))
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get_attribute


#: Finds further names of a module, by the module's name: see `provide_names`.
_providers: dict[str, Callable[[str], Any]] = {}


def provide_names(module: str, find: Callable[[str], Any]) -> None:
    """Lets ``find(name)`` answer for what ``module`` has not, if it asks by `with_provided`; None where it knows none."""
    _providers[module] = find


def with_provided(module: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: names that a higher layer provides, and what to write instead of others."""

    def get_attribute(name: str) -> Any:
        find = None if name.startswith("__") else _providers.get(module)
        found = None if find is None else find(name)
        if found is None:
            raise absent(module, name, dir(sys.modules[module]))
        return found

    return get_attribute


def absent(package: str, name: str, known: Iterable[str] = ()) -> AttributeError:
    """What to raise for ``package.name``: what to write instead, or the nearest of the ``known``."""
    if name.startswith("__"):  # `__path__`: each import from a module asks whether it is a package
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    import difflib

    from dataflow.missing import advice

    public = package.replace("dataflow", "tf", 1)
    known = [k for k in known if not k.startswith("_")]
    hint = advice(f"{public}.{name}".removeprefix("tf."))
    if not hint:
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"Did you mean {' or '.join(f'{public}.{c}' for c in close)}?" if close else ""
    if not hint.startswith("tf."):
        hint = hint[:1].upper() + hint[1:]
    text = f"{public}.{name} is not part of dataflow. {hint}".rstrip()
    # An object of its own: Python would look for a name like it in the module, and ask a second time.
    return AttributeError(text, name=name, obj=object())


def protocol_buffers(package: str, name: str) -> ModuleType:
    """The generated module ``name`` ("graph_pb2"); raises `AttributeError` when there is none."""
    if not name.endswith("_pb2"):
        raise AttributeError(name)
    whole = f"tensorboard.compat.proto.{name}"
    try:
        return importlib.import_module(whole)
    except ModuleNotFoundError as error:
        public = package.replace("dataflow", "tf", 1)
        if error.name == whole:
            raise AttributeError(f"{public}.{name} is not part of dataflow.") from error
        # `from package import name` would drop an AttributeError, and its advice with it.
        raise ImportError(
            f"{public}.{name} comes with TensorBoard: {install('train')}", name=error.name
        ) from error
