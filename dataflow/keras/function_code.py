"""Functions of `Lambda` layers in files: by name, or as code, the way Keras writes them.

Writing code is harmless; to load it is to run what the file says. So a function comes from
``custom_objects``, from the Lambda layers that this process has made itself, or is one of
dataflow's own. Code that a file holds is loaded only where the program asks for it, by
``load_model(path, safe_mode=False)`` or `tf.keras.config.enable_unsafe_deserialization`.
"""

from __future__ import annotations

import base64
import contextlib
import contextvars
import json
import marshal
import sys
from collections import OrderedDict
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from dataflow.layers.serialization import get_custom_objects, serialize
from dataflow.providers import provided

#: In the place of the code's file: another Python's code must not run, and nobody needs the path.
_WRITTEN_BY = f"Lambda layer, Python {sys.version_info[0]}.{sys.version_info[1]}"
_NUM_REMEMBERED = 256

#: Whether code in files is loaded: everywhere, and in this thread.
_is_unsafe = False
_is_unsafe_here = contextvars.ContextVar("is_unsafe_here", default=False)
#: Whether configs hold functions themselves, in this thread.
_is_in_memory = contextvars.ContextVar("is_in_memory", default=False)
_remembered: OrderedDict[str, Any] = OrderedDict()


def enable_unsafe_deserialization() -> None:
    """Lets `load_model` and its kin run code that files hold, from now on.

    Only for files that you trust: their code can do anything that this program can.
    """
    global _is_unsafe
    _is_unsafe = True


@contextlib.contextmanager
def safe_mode(is_safe: bool) -> Iterator[None]:
    """Inside the block, code in files is loaded unless ``is_safe``; where it was loaded already, it still is."""
    token = _is_unsafe_here.set(_is_unsafe_here.get() or not is_safe)
    try:
        yield
    finally:
        _is_unsafe_here.reset(token)


@contextlib.contextmanager
def in_memory() -> Iterator[None]:
    """Inside the block configs hold functions themselves: they are read here and now, from no file."""
    token = _is_in_memory.set(True)
    try:
        yield
    finally:
        _is_in_memory.reset(token)


def is_in_memory() -> bool:
    """Whether configs hold functions and values themselves."""
    return _is_in_memory.get()


def dump(function: Any) -> tuple[Any, str, str | None]:
    """What a config has of a function: its name or its code, which of them, and its module; within
    `in_memory` the function.

    Raises `TypeError` for a function that uses something of the scope around it that is not JSON.
    """
    module = getattr(function, "__module__", None)
    if _is_in_memory.get():
        return function, "raw", module
    if not isinstance(function, FunctionType) or function.__name__ != "<lambda>":
        return serialize(function), "function", module
    cells = function.__closure__ or ()
    scope = dict(zip(function.__code__.co_freevars, (c.cell_contents for c in cells), strict=True))
    try:
        closure = [serialize(value) for value in scope.values()] or None
        defaults = serialize(function.__defaults__)
    except TypeError as error:
        raise TypeError(
            f"The lambda of a Lambda layer cannot be saved: it uses {', '.join(scope)} of the scope "
            f"around it. Pass them as Lambda(function, arguments={{...}}). {error}"
        ) from error
    # Version 2 of the format does not depend on who else holds the constants.
    code = base64.encodebytes(marshal.dumps(_without_place(function.__code__), 2)).decode()
    return [code, defaults, closure], "lambda", module


def _without_place(code: CodeType) -> CodeType:
    """The code without its file and line numbers, so that equal functions compare equal."""
    constants = tuple(_without_place(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=_WRITTEN_BY, co_firstlineno=1, co_consts=constants)


def _key(config: Any, kind: str, module: str | None) -> str:
    return json.dumps([config, kind, module if kind == "function" else None])


def remember(function: Any) -> None:
    """Registers the function of a layer of this program, to which files may refer by name or by its code."""
    try:
        key = _key(*dump(function))
    except TypeError:  # it cannot be saved
        return
    _remembered[key] = function
    _remembered.move_to_end(key)
    if len(_remembered) > _NUM_REMEMBERED:
        _remembered.popitem(last=False)


def load(config: Any, kind: str, module: str | None, layer_name: str) -> Any:
    """The function of `dump`'s three values; ``kind`` may be "raw" for a value that is none.

    Raises `ValueError` for one that is not known, or may not or cannot be loaded.
    """
    if kind == "raw":
        return tuple(config) if isinstance(config, list) else config
    custom = get_custom_objects()
    if kind == "function" and config in custom:
        return custom[config]
    if layer_name in custom:
        return custom[layer_name]
    found = _remembered.get(_key(config, kind, module))
    if found is not None:
        return found
    if kind == "lambda":
        return _from_code(config, module, layer_name)
    own = _own_function(config) if (module or "").startswith("dataflow.") else None
    if own is None:
        raise ValueError(
            f"The Lambda layer {layer_name!r} calls the function {config!r}, which a file has by "
            f"name only: pass custom_objects={{{config!r}: ...}} when loading a model."
        )
    return own


def _own_function(name: str) -> Any:
    """A function of `tf.nn`, `tf.math` or `tf.keras.backend`, by name."""
    tf = provided("public_names")
    for place in (tf.nn, tf.math, tf.keras.backend):
        found = getattr(place, name, None)
        if callable(found) and not isinstance(found, type) and not name.startswith("_"):
            return found
    return None


def _from_code(config: Any, module: str | None, layer_name: str) -> Any:
    """The function of code in a file, if the program allows it."""
    instead = (
        f"Pass the function under the layer's name: "
        f"load_model(path, custom_objects={{{layer_name!r}: function}})"
    )
    if not (_is_unsafe or _is_unsafe_here.get()):
        raise ValueError(
            f"The Lambda layer {layer_name!r} holds the code of a function. It is not loaded, as code "
            f"in a file from elsewhere can do anything to this machine.\n{instead}; or, if you "
            "trust who wrote the file, load_model(path, safe_mode=False), or "
            "tf.keras.config.enable_unsafe_deserialization() before."
        )
    text, defaults, closure = config if isinstance(config, (list, tuple)) else (config, None, None)
    try:
        code = marshal.loads(base64.decodebytes(text.encode()))
        if not isinstance(code, CodeType):
            raise TypeError(f"it is of type {type(code).__name__}")
        if code.co_filename.startswith("Lambda layer, ") and code.co_filename != _WRITTEN_BY:
            raise TypeError(f"it is of a {code.co_filename}")
    except (ValueError, TypeError, EOFError, SystemError, MemoryError) as error:
        raise ValueError(
            f"The Lambda layer {layer_name!r} holds code that Python {sys.version_info[0]}."
            f"{sys.version_info[1]} cannot read ({error}): only the version of Python that wrote it "
            f"can, and TensorFlow 1's programs ran in 3.7 and older. {instead}."
        ) from error
    names = {**vars(sys.modules.get(module or "", sys)), **get_custom_objects()}
    cells = tuple((lambda value: lambda: value)(v).__closure__[0] for v in closure or ())  # type: ignore[index]
    return FunctionType(code, names, code.co_name, defaults and tuple(defaults), cells or None)
