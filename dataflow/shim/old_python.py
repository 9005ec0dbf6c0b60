"""What programs of TensorFlow 1's time expect of Python and of NumPy, SciPy and their like.

`install` puts back, in this process, names that were removed between 2019 and today. Each is what it was:
an alias, or a few lines in today's terms. Names that are still there are left alone. Packages that are not
loaded yet are completed when they are (`old_packages`), and modules that are gone are made (`gone_modules`).
"""

from __future__ import annotations

import builtins
import collections
import collections.abc
import contextlib
import fractions
import functools
import importlib
import inspect
import io
import math
import os
import random
import re
import sys
import threading
import time
import types
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, NamedTuple

from dataflow.shim import old_protos
from dataflow.shim.gone_modules import GONE
from dataflow.shim.missing_names import put_missing
from dataflow.shim.old_numpy import mend_numpy
from dataflow.shim.old_packages import COMPLETED, has_display


class ArgSpec(NamedTuple):
    """What ``inspect.getargspec`` returned."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _getargspec(function: Callable[..., Any]) -> Any:
    """``inspect.getargspec``: args, varargs, keywords, defaults."""
    full = inspect.getfullargspec(function)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _sample_of_sets(function: Callable[..., Any]) -> Callable[..., Any]:
    """``random.sample`` that draws from sets, as it did before Python 3.11."""

    @functools.wraps(function)
    def sample(population: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(population, collections.abc.Set):
            population = tuple(population)
        return function(population, *args, **kwargs)

    return sample


def _open_in_any_newlines(function: Callable[..., Any]) -> Callable[..., Any]:
    """``open`` that takes modes with ``U``, as it did before Python 3.11: text is read so without it."""

    @functools.wraps(function)
    def open_file(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if isinstance(mode, str) and "U" in mode and not set(mode) & set("xwa+"):
            mode = mode.replace("U", "")
            mode = mode if "r" in mode else "r" + mode
        return function(file, mode, *args, **kwargs)

    return open_file


def _split_at_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """``re.split`` that ignores where an optional group, ``(...)?``, matches nothing, as before Python 3.7.

    Since then such a pattern takes a string apart letter by letter, with ``None`` between.
    """

    @functools.wraps(function)
    def split(pattern: Any, string: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(pattern, str) and pattern.startswith("(") and pattern.endswith(")?"):
            with contextlib.suppress(re.error):  # what is within is no whole: not one group
                re.compile(pattern[1:-2])
                pattern = pattern[:-1]
        return function(pattern, string, *args, **kwargs)

    return split


def _mend_python() -> None:
    import base64
    import errno
    import html
    import html.parser
    import platform

    for name in collections.abc.__all__:
        put_missing(collections, **{name: getattr(collections.abc, name)})
    put_missing(inspect, getargspec=_getargspec)
    put_missing(time, clock=time.perf_counter)
    put_missing(fractions, gcd=math.gcd)
    random.sample = _sample_of_sets(random.sample)
    builtins.open = io.open = _open_in_any_newlines(open)
    re.split = _split_at_text(re.split)
    put_missing(threading.Thread, isAlive=threading.Thread.is_alive)
    put_missing(os, errno=errno)
    put_missing(base64, encodestring=base64.encodebytes, decodestring=base64.decodebytes)
    put_missing(html.parser.HTMLParser, unescape=staticmethod(html.unescape))
    # TensorFlow loads these itself, so that programs found them after a mere `import urllib`.
    _add_submodules("urllib", ("error", "parse", "request"))
    put_missing(platform, linux_distribution=lambda *args, **kwargs: ("", "", ""))


def _add_submodules(package: str, names: Sequence[str]) -> None:
    """Lets attributes of ``package`` load its modules ``names`` when they are first asked for."""
    module = importlib.import_module(package)

    def get_attribute(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    module.__dict__.setdefault("__getattr__", get_attribute)


class _Completing(Loader):
    """Loads a module as ever, then adds the names that it once had."""

    def __init__(self, loader: Any, complete: Callable[[types.ModuleType], None]) -> None:
        self._loader, self._complete = loader, complete

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        module: types.ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        self._complete(module)

    def __getattr__(self, name: str) -> Any:  # get_data, get_source, is_package, ...
        return getattr(self._loader, name)


class _Making(Loader):
    def __init__(self, make: Callable[[], types.ModuleType]) -> None:
        self._make = make
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = self._make()
        self._spec = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        if self._spec is not None:
            module.__spec__ = self._spec
        if complete := COMPLETED.get(module.__name__):
            complete(module)


class Finder(MetaPathFinder):
    """Completes some modules when they load, and makes those that are gone."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        is_protocol = fullname.endswith("_pb2")
        if fullname not in COMPLETED and fullname not in GONE and not is_protocol:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            spec = None
        if spec is None:
            make = GONE.get(fullname)
            return None if make is None else ModuleSpec(fullname, _Making(make))
        if spec.loader is not None and (complete := COMPLETED.get(fullname)):
            spec.loader = _Completing(spec.loader, complete)
        if spec.loader is not None and is_protocol:
            spec.loader = old_protos.loader_of(spec.loader, fullname)
        return spec


def install() -> None:
    """Puts the names back and stands ready for packages that load later; once."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    mend_numpy()
    _mend_python()
    if not has_display():
        os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, Finder())
    for name, complete in COMPLETED.items():
        if name in sys.modules:
            complete(sys.modules[name])
