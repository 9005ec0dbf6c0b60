"""The part of ``six`` that programs use, where the package is not installed.

TensorFlow 1 brought six with it, so that its programs import it without asking.
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import importlib
import io
import itertools
import sys
import types
from typing import Any

#: Names of ``six.moves``, and where Python 3 has them.
_MOVES: dict[str, Any] = {
    "xrange": range,
    "range": range,
    "zip": zip,
    "map": map,
    "filter": filter,
    "input": input,
    "reduce": functools.reduce,
    "zip_longest": itertools.zip_longest,
    "filterfalse": itertools.filterfalse,
    "StringIO": io.StringIO,
    "cStringIO": io.StringIO,
    "reload_module": importlib.reload,
    "intern": sys.intern,
}
_MOVED_MODULES = {
    "cPickle": "pickle",
    "queue": "queue",
    "configparser": "configparser",
    "builtins": "builtins",
    "http_client": "http.client",
    "html_parser": "html.parser",
    "socketserver": "socketserver",
    "urllib": "urllib",
    "urllib.request": "urllib.request",
    "urllib.parse": "urllib.parse",
    "urllib.error": "urllib.error",
    "_thread": "_thread",
    "copyreg": "copyreg",
    "tkinter": "tkinter",
}


class _Moves(types.ModuleType):
    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in _MOVED_MODULES:
            raise AttributeError(f"module 'six.moves' has no attribute {name!r}")
        if name == "urllib":  # its parts are attributes of six.moves.urllib
            for part in ("request", "parse", "error"):
                importlib.import_module(f"urllib.{part}")
        return importlib.import_module(_MOVED_MODULES[name])


def _with_metaclass(meta: type, *bases: type) -> type:
    class Metaclass(type):
        def __new__(cls, name: str, _: Any, namespace: dict[str, Any]) -> Any:
            return meta(name, bases, namespace)

    return type.__new__(Metaclass, "temporary_class", (), {})


def _add_metaclass(metaclass: type) -> Any:
    def wrapper(cls: type) -> Any:
        kept = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
        return metaclass(cls.__name__, cls.__bases__, kept)

    return wrapper


def _ensure_binary(s: Any, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    return s.encode(encoding, errors) if isinstance(s, str) else bytes(s)


def _ensure_text(s: Any, encoding: str = "utf-8", errors: str = "strict") -> str:
    return s.decode(encoding, errors) if isinstance(s, bytes) else str(s)


def _reraise(tp: Any, value: Any, tb: Any = None) -> None:
    raise (tp() if value is None else value).with_traceback(tb)


def _raise_from(value: BaseException, from_value: BaseException | None) -> None:
    raise value from from_value


NAMES: dict[str, Any] = {
    "PY2": False,
    "PY3": True,
    "PY34": True,
    "string_types": (str,),
    "integer_types": (int,),
    "class_types": (type,),
    "text_type": str,
    "binary_type": bytes,
    "MAXSIZE": sys.maxsize,
    "StringIO": io.StringIO,
    "BytesIO": io.BytesIO,
    "Iterator": collections.abc.Iterator,
    "iterkeys": lambda d, **kwargs: iter(d.keys(**kwargs)),
    "itervalues": lambda d, **kwargs: iter(d.values(**kwargs)),
    "iteritems": lambda d, **kwargs: iter(d.items(**kwargs)),
    "viewkeys": lambda d: d.keys(),
    "viewvalues": lambda d: d.values(),
    "viewitems": lambda d: d.items(),
    "next": next,
    "advance_iterator": next,
    "callable": callable,
    "unichr": chr,
    "int2byte": lambda i: bytes((i,)),
    "byte2int": lambda data: data[0],
    "b": lambda s: s.encode("latin-1"),
    "u": str,
    "print_": print,
    "exec_": builtins.exec,
    "wraps": functools.wraps,
    "with_metaclass": _with_metaclass,
    "add_metaclass": _add_metaclass,
    "python_2_unicode_compatible": lambda cls: cls,
    "ensure_binary": _ensure_binary,
    "ensure_text": _ensure_text,
    "ensure_str": _ensure_text,
    "reraise": _reraise,
    "raise_from": _raise_from,
}


def moves() -> types.ModuleType:
    """``six.moves``: what Python 3 renamed, under the names that both Pythons had through six."""
    module = _Moves("six.moves")
    module.__dict__.update(_MOVES)
    return module


def six() -> types.ModuleType:
    """The module ``six``."""
    module = types.ModuleType("six", __doc__)
    module.__path__ = []
    module.__dict__.update(NAMES)
    return module


def moved_modules() -> dict[str, str]:
    """``six.moves.urllib.request`` and its like, each with the module that it is."""
    return {f"six.moves.{name}": target for name, target in _MOVED_MODULES.items()}
