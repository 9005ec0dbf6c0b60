"""`tf.flags` (and `tf.app.flags`): command-line flags as globals, parsed when first read."""

from __future__ import annotations

import argparse
import functools
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Error(Exception):
    """What is wrong with a flag."""


class DuplicateFlagError(Error):
    """A flag of that name is there already."""


class IllegalFlagValueError(Error, ValueError):
    """A value that a flag does not take."""


class ValidationError(Error, ValueError):
    """Raised by a validator, with what it has to say."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no such flag."""


class UnparsedFlagAccessError(Error):
    """A flag was read before the command line was: never here, as reading a flag reads the line."""


class FlagNameConflictsWithMethodError(Error):
    """A flag that is named as a method of the flags is."""


class _Flag(NamedTuple):
    """One flag: its value now, the default, and what its help says."""

    name: str
    value: Any
    default: Any
    help: str


class _Flags:
    """``FLAGS.name`` after ``DEFINE_...("name", default, help)``.

    The command line is parsed when a flag is first read; arguments that no flag takes are left for
    the program (Jupyter passes some of its own). ``FLAGS(argv)`` parses a given list.
    """

    def __init__(self) -> None:
        self.__dict__["_definitions"] = {}
        self.__dict__["_values"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_validators"] = []

    def _define(
        self,
        name: str,
        default: Any,
        help: str,
        convert: Any,
        is_bool: bool,
        is_multi: bool = False,
    ) -> None:
        self.__dict__["_definitions"][name] = (default, help, convert, is_bool, is_multi)
        self.__dict__["_values"][name] = default
        self.__dict__["_parsed"] = False

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for name, definition in self.__dict__["_definitions"].items():
            default, text, convert, is_bool, is_multi = definition
            if is_multi:
                parser.add_argument(f"--{name}", action="append", type=convert, help=text)
            elif is_bool:
                parser.add_argument(
                    f"--{name}", nargs="?", const=True, default=default, type=_to_bool, help=text
                )
                if not name.startswith("no"):
                    parser.add_argument(
                        f"--no{name}", dest=name, action="store_false", default=argparse.SUPPRESS
                    )
            else:
                parser.add_argument(f"--{name}", default=default, type=convert, help=text)
        return parser

    def _parse(self, args: list[str]) -> list[str]:
        known, rest = self._parser().parse_known_args(_one_dash_as_two(args))
        values = self.__dict__["_values"]
        given = {a.lstrip("-").split("=")[0] for a in args if a.startswith("-")}
        for name in self.__dict__["_definitions"]:
            if name in given or f"no{name}" in given:
                values[name] = getattr(known, name)
        self.__dict__["_parsed"] = True
        for names, check, message in self.__dict__["_validators"]:
            if not check({n: values[n] for n in names}):
                raise IllegalFlagValueError(message)
        return rest

    def __call__(self, argv: Any = None, known_only: bool = False) -> list[str]:
        argv = sys.argv if argv is None else list(argv)
        return [argv[0], *self._parse(argv[1:])]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self.__dict__["_parsed"]:
            self._parse(sys.argv[1:])
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            known = ", ".join(sorted(self.__dict__["_definitions"])) or "none"
            text = f"There is no flag {name!r}. Defined flags: {known}."
            raise UnrecognizedFlagError(text) from None

    def __getitem__(self, name: str) -> _Flag:
        value = getattr(self, name)
        default, text, *_ = self.__dict__["_definitions"].get(name, (value, ""))
        return _Flag(name, value, default, text)

    def __len__(self) -> int:
        return len(self.__dict__["_definitions"])

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_values"][name] = value

    def __delattr__(self, name: str) -> None:
        self.__dict__["_values"].pop(name, None)
        self.__dict__["_definitions"].pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["_values"]

    def __iter__(self) -> Any:
        return iter(self.__dict__["_definitions"])

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__["_definitions"])

    @property
    def __flags(self) -> dict[str, Any]:
        return dict(self.__dict__["_values"])

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags and their values."""
        if not self.__dict__["_parsed"]:
            self._parse(sys.argv[1:])
        return dict(self.__dict__["_values"])

    def set_default(self, name: str, value: Any) -> None:
        """Another default; a value that the command line gave stays."""
        if name not in self.__dict__["_definitions"]:
            raise UnrecognizedFlagError(f"There is no flag {name!r}.")
        old, *others = self.__dict__["_definitions"][name]
        self.__dict__["_definitions"][name] = (value, *others)
        if self.__dict__["_values"].get(name) == old:
            self.__dict__["_values"][name] = value

    def unparse_flags(self) -> None:
        """Makes the next use read the command line again."""
        self.__dict__["_parsed"] = False

    def is_parsed(self) -> bool:
        """Whether the command line has been read."""
        return bool(self.__dict__["_parsed"])

    def mark_as_parsed(self) -> None:
        """Takes the defaults as they are, without reading the command line."""
        self.__dict__["_parsed"] = True


def _one_dash_as_two(args: list[str]) -> list[str]:
    return [
        "-" + a if a.startswith("-") and not a.startswith("--") and len(a) > 2 else a for a in args
    ]


def _to_bool(text: Any) -> bool:
    if isinstance(text, bool):
        return text
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is not true or false")


FlagValues = _Flags
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
    help: Any,
    convert: Any,
    is_bool: bool,
    flags: Any,
    required: bool,
    is_multi: bool = False,
) -> None:
    (FLAGS if flags is None else flags)._define(
        name, default, help or "", convert, is_bool, is_multi
    )
    if required:
        mark_flag_as_required(name, flags)


@_old_keywords
def DEFINE_string(
    name: str, default: Any, help: Any = "", flag_values: Any = None, required: bool = False
) -> None:
    """Defines a text flag."""
    _define(name, default, help, str, False, flag_values, required)


@_old_keywords
def DEFINE_integer(
    name: str,
    default: Any,
    help: Any = "",
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: Any = None,
    required: bool = False,
) -> None:
    """Defines a whole-number flag; bounds belong to what is allowed."""
    convert = _number(lambda text: int(text, 0), lower_bound, upper_bound)
    _define(name, default, help, convert, False, flag_values, required)


@_old_keywords
def DEFINE_float(
    name: str,
    default: Any,
    help: Any = "",
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: Any = None,
    required: bool = False,
) -> None:
    """Defines a number flag; bounds belong to what is allowed."""
    convert = _number(float, lower_bound, upper_bound)
    _define(name, default, help, convert, False, flag_values, required)


@_old_keywords
def DEFINE_boolean(
    name: str,
    default: Any,
    help: Any = "",
    flag_values: Any = None,
    module_name: Any = None,
    required: bool = False,
) -> None:
    """Defines a switch: ``--name``, ``--noname``, ``--name=false``."""
    _define(name, default, help, _to_bool, True, flag_values, required)


DEFINE_bool = DEFINE_boolean


@_old_keywords
def DEFINE_enum(
    name: str,
    default: Any,
    enum_values: Any,
    help: Any = "",
    flag_values: Any = None,
    module_name: Any = None,
    required: bool = False,
) -> None:
    """Defines a flag that takes one of ``enum_values``."""

    def convert(text: str) -> str:
        if text not in enum_values:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {list(enum_values)}")
        return text

    _define(name, default, help, convert, False, flag_values, required)


@_old_keywords
def DEFINE_list(
    name: str, default: Any, help: Any = "", flag_values: Any = None, required: bool = False
) -> None:
    """Defines a flag that takes texts separated by commas."""
    value = default.split(",") if isinstance(default, str) else default
    convert = lambda text: text.split(",") if text else []
    _define(name, value, help, convert, False, flag_values, required)


@_old_keywords
def DEFINE_spaceseplist(
    name: str,
    default: Any,
    help: Any = "",
    comma_compat: bool = False,
    flag_values: Any = None,
    required: bool = False,
) -> None:
    """Defines a flag that takes texts separated by white space, with ``comma_compat`` by commas, too."""

    def convert(text: str) -> list[str]:
        return (text.replace(",", " ") if comma_compat else text).split()

    value = convert(default) if isinstance(default, str) else default
    _define(name, value, help, convert, False, flag_values, required)


def _define_multi(
    name: str, default: Any, help: Any, convert: Any, flags: Any, required: bool
) -> None:
    """A flag that may be given several times; its value is a list. A default of one value is a list of it."""
    single = isinstance(default, str) or not isinstance(default, Iterable)
    value = default if default is None else [default] if single else list(default)
    _define(name, value, help, convert, False, flags, required, True)


@_old_keywords
def DEFINE_multi_string(
    name: str, default: Any, help: Any = "", flag_values: Any = None, required: bool = False
) -> None:
    """Defines a flag that may be given several times: a list of texts."""
    _define_multi(name, default, help, str, flag_values, required)


@_old_keywords
def DEFINE_multi_integer(
    name: str,
    default: Any,
    help: Any = "",
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: Any = None,
    required: bool = False,
) -> None:
    """Defines a flag that may be given several times: a list of whole numbers."""
    convert = _number(lambda text: int(text, 0), lower_bound, upper_bound)
    _define_multi(name, default, help, convert, flag_values, required)


@_old_keywords
def DEFINE_multi_float(
    name: str,
    default: Any,
    help: Any = "",
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: Any = None,
    required: bool = False,
) -> None:
    """Defines a flag that may be given several times: a list of numbers."""
    convert = _number(float, lower_bound, upper_bound)
    _define_multi(name, default, help, convert, flag_values, required)


@_old_keywords
def DEFINE_multi_enum(
    name: str,
    default: Any,
    enum_values: Any,
    help: Any = "",
    flag_values: Any = None,
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
    help: Any = "",
    flag_values: Any = None,
    module_name: Any = None,
    case_sensitive: bool = False,
    required: bool = False,
) -> None:
    """Defines a flag whose value is a member of ``enum_class``, given by its name."""
    convert = _choice(dict(enum_class.__members__), case_sensitive)
    value = convert(default) if isinstance(default, str) else default
    _define(name, value, help, convert, False, flag_values, required)


@_old_keywords
def DEFINE_multi_enum_class(
    name: str,
    default: Any,
    enum_class: Any,
    help: Any = "",
    flag_values: Any = None,
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
    flag_values: Any = None,
) -> None:
    """Parsing raises `IllegalFlagValueError` with ``message`` where ``checker(value)`` is false."""
    register_multi_flags_validator(
        [flag_name],
        lambda values: checker(values[flag_name]),
        f"flag --{flag_name}: {message}",
        flag_values,
    )


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: Any = None
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
    flag_values: Any = None,
) -> None:
    """`register_validator` for several flags: the checker takes a dict of their values."""
    flags = FLAGS if flag_values is None else flag_values
    for name in flag_names:
        if name not in flags:
            raise UnrecognizedFlagError(f"There is no flag {name!r} to check.")
    flags.__dict__["_validators"].append((list(flag_names), multi_flags_checker, message))
    flags.unparse_flags()


def multi_flags_validator(
    flag_names: Any, message: str = "Flags validation failed", flag_values: Any = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: `register_multi_flags_validator` with the function."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return decorate


def mark_flags_as_mutual_exclusive(
    flag_names: Any, required: bool = False, flag_values: Any = None
) -> None:
    """At most one of the flags, with ``required`` exactly one, may have another value than None."""
    _at_most_one(flag_names, required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Any, required: bool = False, flag_values: Any = None
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


def set_default(flag_name: str, value: Any, flag_values: Any = None) -> None:
    """Gives a flag another default."""
    (FLAGS if flag_values is None else flag_values).set_default(flag_name, value)


def declare_key_flag(flag_name: str, flag_values: Any = None) -> None:
    """Does nothing: help lists all flags."""


def adopt_module_key_flags(module: Any, flag_values: Any = None) -> None:
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


def mark_flag_as_required(flag_name: str, flag_values: Any = None) -> None:
    """Parsing raises `ValueError` when the flag has no value."""
    (FLAGS if flag_values is None else flag_values).__dict__["_validators"].append(
        (
            [flag_name],
            lambda values: values[flag_name] is not None,
            f"Flag --{flag_name} must be specified.",
        )
    )


def mark_flags_as_required(flag_names: Any, flag_values: Any = None) -> None:
    """As `mark_flag_as_required`, for several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def __getattr__(name: str) -> Any:
    from dataflow.namespaces import absent

    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise absent(__name__, name, globals())
