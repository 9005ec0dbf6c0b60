"""The values of command-line flags, and how a command line is read; `flags` defines flags."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_OF_TESTS = (
    *("test_random_seed", "test_randomize_ordering_seed"),
    *("test_srcdir", "test_tmpdir", "xml_output_file"),
)


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


class Flag(NamedTuple):
    """One flag: its value now, the default, and what its help says."""

    name: str
    value: Any
    default: Any
    help: str

    def __str__(self) -> str:  # `FLAGS.__flags` was a table of values before TensorFlow 1.5
        return str(self.value)


class Definition(NamedTuple):
    """What ``DEFINE_...`` says: ``convert`` makes a value of text; ``is_multi``: may be given several times."""

    default: Any
    help: str
    convert: Callable[[str], Any]
    is_bool: bool = False
    is_multi: bool = False


class FlagValues:
    """``FLAGS.name`` after ``DEFINE_...("name", default, help)``.

    The command line is parsed when a flag is first read; arguments that no flag takes are left for
    the program (Jupyter passes some of its own). ``FLAGS(argv)`` parses a given list.
    """

    _definitions: dict[str, Definition]
    _values: dict[str, Any]
    _parsed: bool
    _validators: list[tuple[list[str], Callable[[dict[str, Any]], Any], str]]
    _others: tuple[Any, Callable[[list[str]], list[str]]] | None

    def __init__(self) -> None:
        # Not as attributes: setting one sets a flag.
        self.__dict__.update(_definitions={}, _values={}, _parsed=False, _validators=[])
        self.__dict__["_others"] = None

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for name, (default, text, convert, is_bool, is_multi) in self._definitions.items():
            if is_multi:
                parser.add_argument(f"--{name}", action="append", type=convert, help=text)
            elif is_bool:
                parser.add_argument(
                    f"--{name}", nargs="?", const=True, default=default, type=to_bool, help=text
                )
                if not name.startswith("no"):
                    parser.add_argument(
                        f"--no{name}", dest=name, action="store_false", default=argparse.SUPPRESS
                    )
            else:
                parser.add_argument(f"--{name}", default=default, type=convert, help=text)
        return parser

    def _parse(self, args: list[str]) -> list[str]:
        rest = self._take(args)
        return rest if self._others is None else self._others[1](rest)

    def _take(self, args: list[str]) -> list[str]:
        known, rest = self._parser().parse_known_args(_one_dash_as_two(args))
        values = self._values
        given = {a.lstrip("-").split("=")[0] for a in args if a.startswith("-")}
        for name in self._definitions:
            if name in given or f"no{name}" in given:
                values[name] = getattr(known, name)
        self.__dict__["_parsed"] = True
        for names, check, message in self._validators:
            if not check({n: values[n] for n in names}):
                raise IllegalFlagValueError(message)
        return rest

    def __call__(self, argv: Any = None, known_only: bool = False) -> list[str]:
        argv = sys.argv if argv is None else list(argv)
        return [argv[0], *self._parse(argv[1:])]

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":  # what programs of TensorFlow 1 list to print their flags
            return {flag: self[flag] for flag in self}
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._parsed:
            self._parse(sys.argv[1:])
        try:
            return self._values[name]
        except KeyError:
            if self._others is not None and name in self._others[0]:
                return getattr(self._others[0], name)
            if name in _OF_TESTS and name not in self:
                define_test_flags(self)
                return getattr(self, name)
            known = ", ".join(sorted(self._definitions)) or "none"
            text = f"There is no flag {name!r}. Defined flags: {known}."
            raise UnrecognizedFlagError(text) from None

    def __getitem__(self, name: str) -> Flag:
        value = getattr(self, name)
        definition = self._definitions.get(name)
        if definition is None:
            return Flag(name, value, value, "")
        return Flag(name, value, definition.default, definition.help)

    def __len__(self) -> int:
        return len(self._definitions)

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __delattr__(self, name: str) -> None:
        self._values.pop(name, None)
        self._definitions.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(self._definitions)

    def __dir__(self) -> list[str]:
        return sorted(self._definitions)

    def _parse_flags(self, args: list[str] | None = None) -> list[str]:
        """Reads the command line now, as programs for TensorFlow before 1.5 do; returns what no flag takes."""
        return self._parse(sys.argv[1:] if args is None else list(args))

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags and their values."""
        if not self._parsed:
            self._parse(sys.argv[1:])
        return dict(self._values)

    def set_default(self, name: str, value: Any) -> None:
        """Another default; a value that the command line gave stays."""
        if name not in self._definitions:
            raise UnrecognizedFlagError(f"There is no flag {name!r}.")
        definition = self._definitions[name]
        self._definitions[name] = definition._replace(default=value)
        if self._values.get(name) == definition.default:
            self._values[name] = value

    def unparse_flags(self) -> None:
        """Makes the next use read the command line again."""
        self.__dict__["_parsed"] = False

    def is_parsed(self) -> bool:
        """Whether the command line has been read."""
        return self._parsed

    def mark_as_parsed(self) -> None:
        """Takes the defaults as they are, without reading the command line."""
        self.__dict__["_parsed"] = True


def define_test_flags(flags: FlagValues) -> None:
    """Defines ``--test_tmpdir`` and its kin, which every TensorFlow test has, as Abseil does."""
    folder = os.path.join(tempfile.gettempdir(), "absl_testing")
    texts = {
        "test_randomize_ordering_seed": ("", "The seed of a random order of tests."),
        "test_srcdir": ("", "The root of the tests' data files."),
        "test_tmpdir": (folder, "The folder for files that tests write."),
        "xml_output_file": ("", "A file for results as XML; nothing is written to it here."),
    }
    for name, (default, text) in texts.items():
        if name not in flags:
            define(flags, name, Definition(os.environ.get(name.upper()) or default, text, str))
    if "test_random_seed" not in flags:
        seed = int(os.environ.get("TEST_RANDOM_SEED") or 301)
        define(flags, "test_random_seed", Definition(seed, "The seed of random tests.", int))


def share(flags: FlagValues, others: Any, parse: Callable[[list[str]], list[str]]) -> None:
    """Flags that are defined in ``others`` are found in ``flags``; ``parse(arguments)`` takes theirs."""
    flags.__dict__["_others"] = (others, parse)


def take(flags: FlagValues, args: list[str]) -> list[str]:
    """Reads what is defined in ``flags`` itself; returns the other arguments."""
    return flags._take(args)


def define(flags: FlagValues, name: str, definition: Definition) -> None:
    """Adds a flag, with its default as its value."""
    # Functions, as each method is a name that no flag can have.
    flags._definitions[name] = definition
    flags._values[name] = definition.default
    flags.unparse_flags()


def add_validator(
    flags: FlagValues, names: Iterable[str], check: Callable[[dict[str, Any]], Any], message: str
) -> None:
    """Parsing raises `IllegalFlagValueError` with ``message`` where ``check(values)`` is false."""
    flags._validators.append((list(names), check, message))


def _one_dash_as_two(args: list[str]) -> list[str]:
    return [
        "-" + a if a.startswith("-") and not a.startswith("--") and len(a) > 2 else a for a in args
    ]


def to_bool(text: Any) -> bool:
    if isinstance(text, bool):
        return text
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is not true or false")
