"""Compiles a Python function from its rewritten source, with its closure, defaults and line numbers."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from dataflow import logging
from dataflow.autograph import branches, loops, values
from dataflow.autograph.rewriter import has_control_flow, rewritten, rewritten_lambda
from dataflow.autograph.source import ConversionError, can_be_converted, tree_of
from dataflow.autograph.values import is_tensor
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.eager import executing_eagerly
from dataflow.ops.tensor_array import TensorArray

#: The attribute of a function that `do_not_convert` was applied to.
LEFT_ALONE = "autograph_leaves_alone"

#: Code of rewritten functions by the code it came from, and all code that was made here.
_codes: dict[tuple[str, CodeType], CodeType] = {}
_made: set[CodeType] = set()


class Operators:
    """What rewritten code calls, as ``ag__``. With ``recursive`` called functions are rewritten too."""

    if_stmt = staticmethod(branches.if_stmt)
    if_exp = staticmethod(branches.if_exp)
    and_ = staticmethod(branches.and_)
    or_ = staticmethod(branches.or_)
    not_ = staticmethod(branches.not_)
    assert_stmt = staticmethod(branches.assert_stmt)
    while_stmt = staticmethod(loops.while_stmt)
    for_stmt = staticmethod(loops.for_stmt)
    ld = staticmethod(values.ld)
    attribute = staticmethod(values.attribute)
    set_attribute = staticmethod(values.set_attribute)
    Undefined = values.Undefined

    def __init__(self, recursive: bool) -> None:
        self.recursive = recursive

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """``function(*args, **kwargs)``; Python's len, range, int and float take tensors."""
        kwargs = kwargs or {}
        of_dataset = function is builtins.enumerate or function is builtins.zip
        if of_dataset and args and hasattr(args[0], "iterator_here"):
            dataset = args[0]
            return (
                dataset.zip(args)
                if function is builtins.zip
                else dataset.enumerate(*args[1:], **kwargs)
            )
        if function is builtins.len and len(args) == 1 and isinstance(args[0], TensorArray):
            return args[0].size()
        if any(is_tensor(a) for a in args):
            for builtin, replacement in _BUILTINS:
                if function is builtin and not kwargs:
                    return replacement(*args)
        if not self.recursive or isinstance(function, type):
            return function(*args, **kwargs)
        if isinstance(function, functools.partial):
            keywords = {**function.keywords, **kwargs}
            return self.call(function.func, (*function.args, *args), keywords)
        target, owner = function_of(function)
        if target is None or not can_be_converted(target) or is_left_alone(target):
            return function(*args, **kwargs)
        try:
            made = converted(target, self)
        except ConversionError as e:
            logging.info("AutoGraph calls %s as it is: %s", target.__qualname__, e)
            return function(*args, **kwargs)
        return made(*owner, *args, **kwargs)


_OPERATORS = {recursive: Operators(recursive) for recursive in (False, True)}


def function_of(entity: Any) -> tuple[FunctionType | None, tuple[Any, ...]]:
    """The function that a call of ``entity`` runs, and the object that it is bound to, if any."""
    if type(entity) is FunctionType:  # an op passes for one in programs of TensorFlow's
        return entity, ()
    if isinstance(entity, MethodType):
        inner, owner = function_of(entity.__func__)
        return inner, (entity.__self__, *owner)
    call = inspect.getattr_static(type(entity), "__call__", None)
    return (call, (entity,)) if isinstance(call, FunctionType) else (None, ())


def is_left_alone(function: FunctionType) -> bool:
    """Whether the function has been rewritten already, or must not be."""
    return function.__code__ in _made or LEFT_ALONE in function.__dict__


def converted(function: FunctionType, operators: Operators) -> FunctionType:
    """``function`` from its rewritten source; raises `ConversionError` where there is none."""
    code = function.__code__
    key = (code.co_filename, code)
    made = _codes.get(key)
    if made is None:
        made = _codes[key] = _compiled(rewritten_tree(function), function)
        _made.update(_codes_within(made))
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells["ag__"] = CellType(operators)
    closure = tuple(cells[name] for name in made.co_freevars)
    result = FunctionType(made, function.__globals__, function.__name__, None, closure)
    result.__defaults__, result.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    result.__qualname__, result.__module__ = function.__qualname__, function.__module__
    result.__doc__ = function.__doc__
    result.__dict__.update(function.__dict__)
    return result


def rewritten_tree(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The function's syntax tree, rewritten; raises `ConversionError`."""
    code = function.__code__
    *outer, _ = function.__qualname__.split(".")
    owner = outer[-1] if outer and outer[-1] != "<locals>" else ""
    if not can_be_converted(function):
        raise ConversionError(f"{function.__qualname__}() is a generator, or belongs to a library.")
    tree = tree_of(code)
    try:
        if isinstance(tree, ast.Lambda):
            return rewritten_lambda(tree, owner)
        return rewritten(tree, owner)
    except ConversionError as e:
        where = f"{function.__qualname__}() in {code.co_filename}"
        raise ConversionError(f"{where} cannot be rewritten: {e}") from None


def _compiled(tree: ast.FunctionDef | ast.Lambda, function: FunctionType) -> CodeType:
    code = function.__code__
    # Under its own name it would hide the global of that name, by which it may call itself.
    name = "<lambda>" if isinstance(tree, ast.Lambda) else "ag__function"
    if isinstance(tree, ast.FunctionDef):
        tree.name = name
    parameters = ", ".join(["ag__", *code.co_freevars])
    factory = ast.parse(f"def ag__factory({parameters}): pass").body[0]
    assert isinstance(factory, ast.FunctionDef)
    statement = ast.Expr(value=tree) if isinstance(tree, ast.Lambda) else tree
    factory.body = [ast.copy_location(statement, tree)]
    module = ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))
    outer = next(c for c in _inner(compile(module, code.co_filename, "exec")))
    made = next(c for c in _inner(outer) if c.co_name == name)
    return made.replace(
        co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno
    )


def _inner(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _codes_within(code: CodeType) -> list[CodeType]:
    return [code, *(found for inner in _inner(code) for found in _codes_within(inner))]


@functools.lru_cache(1024)
def _asks_for_truth(code: CodeType) -> bool:
    try:
        return has_control_flow(tree_of(code))
    except ConversionError:
        return False


def converted_if_needed(
    entity: Callable[..., Any], calls_others: bool = False
) -> Callable[..., Any]:
    """``entity``, rewritten if its source has branches or loops and it is the user's own.

    ``calls_others``: also without, so that the functions that it calls are rewritten. With eager execution it is called as it is: tensors have values for Python to branch on.
    """
    if executing_eagerly():
        return entity
    function, owner = function_of(entity)
    if function is None or not can_be_converted(function) or is_left_alone(function):
        return entity
    if not calls_others and not _asks_for_truth(function.__code__):
        return entity
    try:
        made = converted(function, _OPERATORS[True])
    except ConversionError as e:
        logging.info("AutoGraph calls %s as it is: %s", function.__qualname__, e)
        return entity
    return MethodType(made, owner[0]) if owner else made


def operators(recursive: bool) -> Operators:
    """The ``ag__`` of rewritten code. With ``recursive`` the functions that it calls are rewritten too."""
    return _OPERATORS[recursive]


def _length(value: Any) -> Any:
    """``len`` of a tensor: its first dimension, as Python's int where that is known."""
    from dataflow.ops.shape import shape

    tensor = convert_to_tensor(value)
    if tensor.dims == ():
        raise ValueError(f"len requires a tensor with at least one dimension, got {tensor.name!r}.")
    known = tensor.dims[0] if tensor.dims is not None else None
    return known if known is not None else shape(tensor)[0]


def _range(*limits: Any) -> Any:
    """``range`` of tensors: as Python's, empty where it ends before it starts."""
    from dataflow.ops.fills import zeros_like
    from dataflow.ops.math import maximum, minimum
    from dataflow.ops.sequences import range_

    if len(limits) == 1:
        return range_(maximum(limits[0], zeros_like(limits[0])))
    start, stop, *step = limits
    if step and is_tensor(step[0]):
        return range_(start, stop, step[0])
    return range_(start, (minimum if step and step[0] < 0 else maximum)(start, stop), *step)


def _number(dtype_name: str) -> Callable[[Any], Any]:
    def convert(value: Any, base: int = 10) -> Any:
        from dataflow import dtypes
        from dataflow.ops.casts import cast
        from dataflow.ops.string import string_to_number

        if base != 10:
            raise NotImplementedError(
                f"int(t, {base}) of a tensor: tensors of texts are read in base 10 only."
            )
        dtype = dtypes.as_dtype(dtype_name)
        tensor = convert_to_tensor(value)
        return (
            string_to_number(tensor, dtype)
            if tensor.dtype is dtypes.string
            else cast(tensor, dtype)
        )

    return convert


_BUILTINS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (builtins.len, _length),
    (builtins.range, _range),
    (builtins.int, _number("int32")),
    (builtins.float, _number("float32")),
)
