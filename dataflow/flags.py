"""`tf.flags` (and `tf.app.flags`): command-line flags as globals, parsed when first read."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from typing import Any


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

    def _define(self, name: str, default: Any, help: str, convert: Any, is_bool: bool) -> None:
        self.__dict__["_definitions"][name] = (default, help, convert, is_bool)
        self.__dict__["_values"][name] = default
        self.__dict__["_parsed"] = False

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for name, (default, text, convert, is_bool) in self.__dict__["_definitions"].items():
            if is_bool:
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
                raise ValueError(message)
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
            raise AttributeError(f"There is no flag {name!r}. Defined flags: {known}.") from None

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


FLAGS = _Flags()


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
    name: str, default: Any, help: Any, convert: Any, is_bool: bool, flags: Any, required: bool
) -> None:
    (FLAGS if flags is None else flags)._define(name, default, help or "", convert, is_bool)
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
def DEFINE_multi_string(
    name: str, default: Any, help: Any = "", flag_values: Any = None, required: bool = False
) -> None:
    """Defines a flag that takes a list."""
    DEFINE_list(name, default, help, flag_values, required)


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
