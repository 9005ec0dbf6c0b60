"""`tf.flags` and `tf.app.flags`: absl's flags, as in TensorFlow since 1.5, parsed when one is first read.

What absl refuses and programs count on is taken: the keywords of before 1.5 (``flag_name=``), a flag that a
notebook's cell defines anew when it is run again, ``FLAGS._parse_flags()``, and, where nobody parsed the
command line, arguments that no flag takes (Jupyter passes some of its own).
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from absl import flags as _absl
from absl.flags import (
    DEFINE as DEFINE,
    ArgumentParser as ArgumentParser,
    ArgumentSerializer as ArgumentSerializer,
    BaseListParser as BaseListParser,
    BooleanFlag as BooleanFlag,
    BooleanParser as BooleanParser,
    CantOpenFlagFileError as CantOpenFlagFileError,
    CsvListSerializer as CsvListSerializer,
    DEFINE_flag as DEFINE_flag,
    DEFINE_multi as DEFINE_multi,
    DuplicateFlagError as DuplicateFlagError,
    EnumClassFlag as EnumClassFlag,
    EnumClassListSerializer as EnumClassListSerializer,
    EnumClassParser as EnumClassParser,
    EnumClassSerializer as EnumClassSerializer,
    EnumFlag as EnumFlag,
    EnumParser as EnumParser,
    Error as Error,
    Flag as Flag,
    FlagHolder as FlagHolder,
    FlagNameConflictsWithMethodError as FlagNameConflictsWithMethodError,
    FlagValues as FlagValues,
    FloatParser as FloatParser,
    IllegalFlagValueError as IllegalFlagValueError,
    IntegerParser as IntegerParser,
    ListParser as ListParser,
    ListSerializer as ListSerializer,
    MultiEnumClassFlag as MultiEnumClassFlag,
    MultiFlag as MultiFlag,
    UnparsedFlagAccessError as UnparsedFlagAccessError,
    UnrecognizedFlagError as UnrecognizedFlagError,
    ValidationError as ValidationError,
    WhitespaceSeparatedListParser as WhitespaceSeparatedListParser,
    adopt_module_key_flags as adopt_module_key_flags,
    declare_key_flag as declare_key_flag,
    disclaim_key_flags as disclaim_key_flags,
    doc_to_help as doc_to_help,
    flag_dict_to_args as flag_dict_to_args,
    get_help_width as get_help_width,
    mark_bool_flags_as_mutual_exclusive as mark_bool_flags_as_mutual_exclusive,
    mark_flag_as_required as mark_flag_as_required,
    mark_flags_as_mutual_exclusive as mark_flags_as_mutual_exclusive,
    mark_flags_as_required as mark_flags_as_required,
    multi_flags_validator as multi_flags_validator,
    override_value as override_value,
    register_multi_flags_validator as register_multi_flags_validator,
    register_validator as register_validator,
    set_default as set_default,
    text_wrap as text_wrap,
    validator as validator,
)

# A flag belongs to the module that calls DEFINE_..., not to this one: absl's help lists the program's.
disclaim_key_flags()

_OLD_KEYWORDS = {"flag_name": "name", "default_value": "default", "docstring": "help"}
_OF_TESTS = (
    *("test_random_seed", "test_randomize_ordering_seed"),
    *("test_srcdir", "test_tmpdir", "xml_output_file"),
)


class _Shown:
    """A flag in ``FLAGS.__flags``, which programs from before TensorFlow 1.5 print as its value."""

    def __init__(self, flag: Any) -> None:
        self._flag = flag

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flag, name)

    def __str__(self) -> str:
        return str(self._flag.value)


class _Flags:
    """``FLAGS.name`` after ``DEFINE_...("name", default, help)``: ``absl.flags.FLAGS``, the command line read.

    ``FLAGS(argv)`` parses a given list; otherwise ``sys.argv`` is parsed when a flag is first read.
    """

    def __init__(self, flags: FlagValues) -> None:
        # Not as attributes: setting one sets a flag.
        self.__dict__.update(absl_flags=flags, is_implicit=False)

    def _parsed(self) -> FlagValues:
        flags: FlagValues = self.__dict__["absl_flags"]
        if not flags.is_parsed():
            flags(sys.argv, known_only=True)
            self.__dict__["is_implicit"] = True
        return flags

    def _defined(self, name: str) -> None:
        """A flag that is defined when the command line was read already has its value from there, too."""
        flags: FlagValues = self.__dict__["absl_flags"]
        if self.__dict__["is_implicit"]:
            alone = FlagValues()  # type: ignore[no-untyped-call]
            alone[name] = flags[name]
            alone(sys.argv, known_only=True)

    def __getattr__(self, name: str) -> Any:
        flags: FlagValues = self.__dict__["absl_flags"]
        if name == "__flags":  # what programs of TensorFlow 1 list to print their flags
            parsed = self._parsed()
            return {flag: _Shown(parsed[flag]) for flag in parsed}
        if name in _OF_TESTS and name not in flags:
            importlib.import_module("absl.testing.absltest")  # which defines them
        if name in flags:
            return getattr(self._parsed(), name)
        if name.startswith("_") or hasattr(FlagValues, name):
            return getattr(flags, name)
        known = ", ".join(sorted(flags)) or "none"
        raise AttributeError(f"There is no flag {name!r}. Defined flags: {known}.")

    def __setattr__(self, name: str, value: Any) -> None:
        flags = self._parsed()
        if name not in flags:  # as before TensorFlow 1.5
            _absl.DEFINE(ArgumentParser(), name, None, "Set by the program.", flags)
        setattr(flags, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["absl_flags"], name)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["absl_flags"][name]  # unparsed: absl asks while a flag is defined

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["absl_flags"][name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["absl_flags"]

    def __len__(self) -> int:
        return len(self.__dict__["absl_flags"])

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["absl_flags"])

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["absl_flags"])

    def __str__(self) -> str:
        return str(self.__dict__["absl_flags"])

    def __call__(self, argv: Any = None, known_only: bool = False) -> list[str]:
        argv = sys.argv if argv is None else list(argv)
        rest: list[str] = self.__dict__["absl_flags"](argv, known_only=known_only)
        self.__dict__["is_implicit"] = False
        return rest

    def _parse_flags(self, args: list[str] | None = None) -> list[str]:
        """Reads the command line now, as programs for TensorFlow before 1.5 do; returns what no flag takes."""
        return self(["", *(sys.argv[1:] if args is None else args)], known_only=True)[1:]


FLAGS = _Flags(_absl.FLAGS)


def _definer(define: Callable[..., Any]) -> Callable[..., None]:
    """``define`` with the keywords of before TensorFlow 1.5, which takes the place of a flag of that name."""

    @functools.wraps(define)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        kwargs = {_OLD_KEYWORDS.get(key, key): value for key, value in kwargs.items()}
        flags = kwargs.get("flag_values", FLAGS)
        name = kwargs["name"] if "name" in kwargs else args[0]
        if name in flags:
            delattr(flags, name)
        define(*args, **kwargs)
        if isinstance(flags, _Flags):
            flags._defined(name)

    return wrapped


DEFINE_string = _definer(_absl.DEFINE_string)
DEFINE_boolean = _definer(_absl.DEFINE_boolean)
DEFINE_bool = _definer(_absl.DEFINE_bool)
DEFINE_float = _definer(_absl.DEFINE_float)
DEFINE_integer = _definer(_absl.DEFINE_integer)
DEFINE_enum = _definer(_absl.DEFINE_enum)
DEFINE_enum_class = _definer(_absl.DEFINE_enum_class)
DEFINE_list = _definer(_absl.DEFINE_list)
DEFINE_spaceseplist = _definer(_absl.DEFINE_spaceseplist)
DEFINE_multi_string = _definer(_absl.DEFINE_multi_string)
DEFINE_multi_integer = _definer(_absl.DEFINE_multi_integer)
DEFINE_multi_float = _definer(_absl.DEFINE_multi_float)
DEFINE_multi_enum = _definer(_absl.DEFINE_multi_enum)
DEFINE_multi_enum_class = _definer(_absl.DEFINE_multi_enum_class)
DEFINE_alias = _definer(_absl.DEFINE_alias)
