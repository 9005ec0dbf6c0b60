"""Modules that an old compiler of Protocol Buffers wrote (``*_pb2.py``), which today's package refuses.

Up to protoc 3.18 such a module says everything twice: as calls of Python that make each descriptor, and as
the bytes of the whole file. The calls are what the package refuses; from the bytes the same classes are made.
"""

from __future__ import annotations

import ast
import functools
import importlib
import types
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from typing import Any


class OldProtocol(Loader):
    """Makes the module's messages from the bytes that stand in its text."""

    def __init__(self, loader: Any, tree: ast.Module, data: bytes) -> None:
        self._loader, self._tree, self._data = loader, tree, data

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        imports = [node for node in self._tree.body if _names_protocol(node)]
        code = compile(ast.Module(imports, []), module.__file__ or module.__name__, "exec")
        exec(code, module.__dict__)  # the files that this one imports come first
        pool = importlib.import_module("google.protobuf.descriptor_pool").Default()
        builder = importlib.import_module("google.protobuf.internal.builder")
        names = module.__dict__
        names["DESCRIPTOR"] = pool.AddSerializedFile(self._data)
        builder.BuildMessageAndEnumDescriptors(names["DESCRIPTOR"], names)
        builder.BuildTopDescriptorsAndMessages(names["DESCRIPTOR"], module.__name__, names)

    def __getattr__(self, name: str) -> Any:  # get_data, get_source, is_package, ...
        return getattr(self._loader, name)


def read_options(module: types.ModuleType) -> None:
    """``text_format.Parse`` and ``Merge`` fill a `ConfigProto` and its kind, which are no messages here."""
    for name in ("Parse", "Merge"):
        setattr(module, name, _reader(getattr(module, name)))


def _reader(read: Any) -> Any:
    @functools.wraps(read)
    def read_text(text: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
        new_message = getattr(type(message), "new_message", None)
        filled = None if new_message is None else new_message()
        if filled is None:
            return read(text, message, *args, **kwargs)
        read(text, filled, *args, **kwargs)
        message.merge_message(filled)
        return message

    return read_text


def loader_of(loader: Any, fullname: str) -> Any:
    """``loader``, or what reads the module in its place where an old compiler wrote it.

    The package's own modules are of its own release, and what the others are made with: its
    ``descriptor_pb2`` has the calls for where it works without machine code, as in a web page.
    """
    if fullname.startswith("google.protobuf."):
        return loader
    try:
        source = loader.get_source(fullname)
    except (AttributeError, ImportError, SyntaxError):
        return loader
    if not source or "serialized_pb" not in source or "FileDescriptor(" not in source:
        return loader
    tree = ast.parse(source)
    data = _serialized(tree)
    return loader if data is None else OldProtocol(loader, tree, data)


def _names_protocol(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("_pb2"):
        return True
    return isinstance(node, (ast.Import, ast.ImportFrom)) and any(
        alias.name.endswith("_pb2") for alias in node.names
    )


def _serialized(tree: ast.Module) -> bytes | None:
    """The bytes that the first call with ``serialized_pb`` gets: ``b'...'`` or ``_b('...')``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            value: Any = keyword.value
            if keyword.arg != "serialized_pb":
                continue
            if isinstance(value, ast.Call) and value.args:
                value = value.args[0]
            if isinstance(value, ast.Constant) and isinstance(value.value, (str, bytes)):
                text = value.value
                return text if isinstance(text, bytes) else text.encode("latin-1")
    return None
