"""`tf.flags` (and `tf.app.flags`): command-line flags as globals, parsed when first read."""

from __future__ import annotations

import argparse
import functools
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from dataflow.flag_values import (
    Definition as _Definition,
    DuplicateFlagError as DuplicateFlagError,
    Error as Error,
    FlagNameConflictsWithMethodError as FlagNameConflictsWithMethodError,
    FlagValues,
    IllegalFlagValueError as IllegalFlagValueError,
    UnparsedFlagAccessError as UnparsedFlagAccessError,
    UnrecognizedFlagError,
    ValidationError as ValidationError,
    add_validator as _add_validator,
    define as _add_flag,
    to_bool as _to_bool,
)

FLAGS = FlagValues()


def _old_keywords(define: Callable[..., None]) -> Callable[..., None]:
    """Takes the keywords of before TensorFlow 1.5, too."""
    renamed = {"flag_name": "name", "default_value": "default", "docstring": "help"}

    @functools.wraps(define)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        define(*args, **{renamed.get(key, key): value for key, value in kwargs.items()})

    return wrapped


def _number(read: Callable[[str], Any], lower: Any, upper: Any) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        value = read(text)
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            raise argparse.ArgumentTypeError(
                f"{text} is outside [{'' if lower is None else lower}, "
                f"{'' if upper is None else upper}]"
            )
        return value

    convert.__name__ = "number"  # argparse names it in its message
    return convert


def _define(
    name: str,
    default: Any,
    help: str,
    convert: Callable[[str], Any],
    flags: FlagValues | None,
    required: bool,
    *,
    is_bool: bool = False,
    is_multi: bool = False,
) -> None:
    definition = _Definition(default, help or "", convert, is_bool, is_multi)
    _add_flag(FLAGS if flags is None else flags, name, definition)
    if required:
        mark_flag_as_required(name, flags)


@_old_keywords
def DEFINE_string(
    name: str,
    default: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    required: bool = False,
) -> None:
    """Defines a text flag."""
    _define(name, default, help, str, flag_values, required)


def _definer_of_numbers(
    name: str, define: Callable[..., None], read: Callable[[str], Any], what: str
) -> Callable[..., None]:
    def definer(
        name: str,
        default: Any,
        help: str = "",
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        flag_values: FlagValues | None = None,
        required: bool = False,
    ) -> None:
        convert = _number(read, lower_bound, upper_bound)
        define(name, default, help, convert, flag_values, required)

    definer.__name__ = definer.__qualname__ = name
    definer.__doc__ = f"Defines {what}; bounds belong to what is allowed."
    return _old_keywords(definer)


def _whole(text: str) -> int:
    return int(text, 0)


DEFINE_integer = _definer_of_numbers("DEFINE_integer", _define, _whole, "a whole-number flag")
DEFINE_float = _definer_of_numbers("DEFINE_float", _define, float, "a number flag")


@_old_keywords
def DEFINE_boolean(
    name: str,
    default: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    module_name: Any = None,
    required: bool = False,
) -> None:
    """Defines a switch: ``--name``, ``--noname``, ``--name=false``."""
    _define(name, default, help, _to_bool, flag_values, required, is_bool=True)


DEFINE_bool = DEFINE_boolean


@_old_keywords
def DEFINE_enum(
    name: str,
    default: Any,
    enum_values: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    module_name: Any = None,
    required: bool = False,
) -> None:
    """Defines a flag that takes one of ``enum_values``."""

    def convert(text: str) -> str:
        if text not in enum_values:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {list(enum_values)}")
        return text

    _define(name, default, help, convert, flag_values, required)


@_old_keywords
def DEFINE_list(
    name: str,
    default: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    required: bool = False,
) -> None:
    """Defines a flag that takes texts separated by commas."""
    value = default.split(",") if isinstance(default, str) else default
    convert = lambda text: text.split(",") if text else []
    _define(name, value, help, convert, flag_values, required)


@_old_keywords
def DEFINE_spaceseplist(
    name: str,
    default: Any,
    help: str = "",
    comma_compat: bool = False,
    flag_values: FlagValues | None = None,
    required: bool = False,
) -> None:
    """Defines a flag that takes texts separated by white space, with ``comma_compat`` by commas, too."""

    def convert(text: str) -> list[str]:
        return (text.replace(",", " ") if comma_compat else text).split()

    value = convert(default) if isinstance(default, str) else default
    _define(name, value, help, convert, flag_values, required)


def _define_multi(
    name: str, default: Any, help: str, convert: Any, flags: Any, required: bool
) -> None:
    """A flag that may be given several times; its value is a list. A default of one value is a list of it."""
    single = isinstance(default, str) or not isinstance(default, Iterable)
    value = default if default is None else [default] if single else list(default)
    _define(name, value, help, convert, flags, required, is_multi=True)


DEFINE_multi_integer = _definer_of_numbers(
    "DEFINE_multi_integer",
    _define_multi,
    _whole,
    "a flag that may be given several times: a list of whole numbers",
)
DEFINE_multi_float = _definer_of_numbers(
    "DEFINE_multi_float",
    _define_multi,
    float,
    "a flag that may be given several times: a list of numbers",
)


@_old_keywords
def DEFINE_multi_string(
    name: str,
    default: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    required: bool = False,
) -> None:
    """Defines a flag that may be given several times: a list of texts."""
    _define_multi(name, default, help, str, flag_values, required)


@_old_keywords
def DEFINE_multi_enum(
    name: str,
    default: Any,
    enum_values: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    case_sensitive: bool = True,
    required: bool = False,
) -> None:
    """Defines a flag that may be given several times: a list of some of ``enum_values``."""
    convert = _choice({str(value): value for value in enum_values}, case_sensitive)
    _define_multi(name, default, help, convert, flag_values, required)


def _choice(values: dict[str, Any], case_sensitive: bool) -> Callable[[str], Any]:
    found = values if case_sensitive else {key.lower(): value for key, value in values.items()}

    def convert(text: str) -> Any:
        key = text if case_sensitive else text.lower()
        if key not in found:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {list(values)}")
        return found[key]

    return convert


@_old_keywords
def DEFINE_enum_class(
    name: str,
    default: Any,
    enum_class: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    module_name: Any = None,
    case_sensitive: bool = False,
    required: bool = False,
) -> None:
    """Defines a flag whose value is a member of ``enum_class``, given by its name."""
    convert = _choice(dict(enum_class.__members__), case_sensitive)
    value = convert(default) if isinstance(default, str) else default
    _define(name, value, help, convert, flag_values, required)


@_old_keywords
def DEFINE_multi_enum_class(
    name: str,
    default: Any,
    enum_class: Any,
    help: str = "",
    flag_values: FlagValues | None = None,
    module_name: Any = None,
    case_sensitive: bool = False,
    required: bool = False,
) -> None:
    """Defines a flag that may be given several times: a list of members of ``enum_class``."""
    convert = _choice(dict(enum_class.__members__), case_sensitive)
    if isinstance(default, str):
        default = convert(default)
    elif isinstance(default, Iterable) and default is not enum_class:
        default = [convert(d) if isinstance(d, str) else d for d in default]
    _define_multi(name, default, help, convert, flag_values, required)


def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues | None = None,
) -> None:
    """Parsing raises `IllegalFlagValueError` with ``message`` where ``checker(value)`` is false."""
    register_multi_flags_validator(
        [flag_name],
        lambda values: checker(values[flag_name]),
        f"flag --{flag_name}: {message}",
        flag_values,
    )


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: `register_validator` with the function."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return decorate


def register_multi_flags_validator(
    flag_names: Any,
    multi_flags_checker: Callable[[dict[str, Any]], Any],
    message: str = "Flags validation failed",
    flag_values: FlagValues | None = None,
) -> None:
    """`register_validator` for several flags: the checker takes a dict of their values."""
    flags = FLAGS if flag_values is None else flag_values
    for name in flag_names:
        if name not in flags:
            raise UnrecognizedFlagError(f"There is no flag {name!r} to check.")
    _add_validator(flags, flag_names, multi_flags_checker, message)
    flags.unparse_flags()


def multi_flags_validator(
    flag_names: Any, message: str = "Flags validation failed", flag_values: FlagValues | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: `register_multi_flags_validator` with the function."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return decorate


def mark_flags_as_mutual_exclusive(
    flag_names: Any, required: bool = False, flag_values: FlagValues | None = None
) -> None:
    """At most one of the flags, with ``required`` exactly one, may have another value than None."""
    _at_most_one(flag_names, required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Any, required: bool = False, flag_values: FlagValues | None = None
) -> None:
    """At most one of the flags, with ``required`` exactly one, may be true."""
    _at_most_one(flag_names, required, flag_values, bool)


def _at_most_one(names: Any, required: bool, flags: Any, given: Callable[[Any], Any]) -> None:
    def check(values: dict[str, Any]) -> bool:
        count = sum(1 for value in values.values() if given(value))
        return count == 1 or (count == 0 and not required)

    what = "Exactly" if required else "At most"
    message = f"{what} one of ({', '.join(names)}) must be specified."
    register_multi_flags_validator(names, check, message, flags)


def set_default(flag_name: str, value: Any, flag_values: FlagValues | None = None) -> None:
    """Gives a flag another default."""
    (FLAGS if flag_values is None else flag_values).set_default(flag_name, value)


def declare_key_flag(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Does nothing: help lists all flags."""


def adopt_module_key_flags(module: Any, flag_values: FlagValues | None = None) -> None:
    """Does nothing: help lists all flags."""


def disclaim_key_flags() -> None:
    """Does nothing: help lists all flags."""


def flag_dict_to_args(flag_map: dict[str, Any], multi_flags: Any = None) -> Iterable[str]:
    """The arguments of a command line that give flags these values."""
    for key, value in flag_map.items():
        if value is None:
            yield f"--{key}"
        elif isinstance(value, bool):
            yield f"--{key}" if value else f"--no{key}"
        elif isinstance(value, str) or not isinstance(value, Iterable):
            yield f"--{key}={value}"
        elif multi_flags and key in multi_flags:
            yield from (f"--{key}={item}" for item in value)
        else:
            yield f"--{key}={','.join(str(item) for item in value)}"


def get_help_width() -> int:
    """How many columns help has."""
    return 80


def text_wrap(
    text: str, length: int | None = None, indent: str = "", firstline_indent: str | None = None
) -> str:
    """``text`` in lines of at most ``length`` characters, each indented."""
    first = indent if firstline_indent is None else firstline_indent
    width = length or get_help_width()
    lines = []
    for paragraph in text.strip().splitlines():
        lines += textwrap.wrap(paragraph, width, initial_indent=first, subsequent_indent=indent)
        first = indent
    return "\n".join(lines)


def doc_to_help(doc: str) -> str:
    """A docstring as help: without its indentation, its lines joined within paragraphs."""
    paragraphs = textwrap.dedent("    " + doc.strip() if "\n" in doc else doc.strip()).strip()
    return "\n\n".join(" ".join(part.split()) for part in paragraphs.split("\n\n") if part.strip())


def mark_flag_as_required(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Parsing raises `ValueError` when the flag has no value."""
    _add_validator(
        FLAGS if flag_values is None else flag_values,
        [flag_name],
        lambda values: values[flag_name] is not None,
        f"Flag --{flag_name} must be specified.",
    )


def mark_flags_as_required(flag_names: Any, flag_values: FlagValues | None = None) -> None:
    """As `mark_flag_as_required`, for several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def __getattr__(name: str) -> Any:
    from dataflow.namespaces import absent

    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise absent(__name__, name, globals())
