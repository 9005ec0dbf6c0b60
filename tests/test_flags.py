"""`tf.app.flags` and `tf.app.run`, each in a process or a set of flags of its own."""

from __future__ import annotations

import enum
import subprocess
import sys
from typing import Any

import pytest

import dataflow as tf
from dataflow import flags

PROGRAM = """
import dataflow as tf
tf.app.flags.DEFINE_string("name", "Ada", "who")
tf.app.flags.DEFINE_integer("steps", 3, "how many", lower_bound=1)
tf.app.flags.DEFINE_float("rate", 0.5, "how fast")
tf.app.flags.DEFINE_boolean("train", False, "whether")
tf.flags.DEFINE_bool("fast", True, "whether")
tf.flags.DEFINE_string(flag_name="old", default_value="x", docstring="before 1.5")
FLAGS = tf.app.flags.FLAGS
def main(argv):
    print(FLAGS.name, FLAGS.steps, FLAGS.rate, FLAGS.train, FLAGS.fast, FLAGS.old, argv[1:])
    return 5 if FLAGS.train else None
if __name__ == "__main__":
    tf.app.run()
"""


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=120
    )


def test_defaults() -> None:
    done = program()
    assert (done.returncode, done.stdout) == (0, "Ada 3 0.5 False True x []\n")


def test_every_spelling_and_the_exit_code_of_main() -> None:
    done = program("--name=Bo", "--steps", "7", "-rate=2", "--train", "--nofast", "rest")
    assert done.stdout == "Bo 7 2.0 True False x ['rest']\n"
    assert done.returncode == 5


@pytest.mark.parametrize("wrong", ["--steps=many", "--steps=0", "--train=perhaps", "--rate=x"])
def test_values_that_do_not_fit_are_named(wrong: str) -> None:
    done = program(wrong)
    assert done.returncode != 0
    assert done.stdout == ""
    assert wrong.partition("=")[0] in done.stderr


def test_help_lists_the_flags_of_the_program() -> None:
    done = program("--help")
    assert done.returncode == 1
    assert "--steps: how many\n    (default: '3')" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.fixture
def own() -> Any:
    return type(tf.flags.FLAGS)(flags.FlagValues())


def test_flags_can_be_changed_and_looked_up(own: Any) -> None:
    tf.flags.DEFINE_integer("steps", 3, "how many", flag_values=own)
    own(["program", "--steps=4"])
    assert own.steps == 4
    own.steps = 9
    assert own.steps == 9
    assert own.flag_values_dict() == {"steps": 9}
    assert "steps" in own
    assert "other" not in own
    with pytest.raises(AttributeError, match=r"other.*steps"):
        own.other


def test_a_required_flag(own: Any) -> None:
    tf.flags.DEFINE_string("name", None, "who", flag_values=own, required=True)
    with pytest.raises(flags.IllegalFlagValueError, match="Flag --name must have a value"):
        own(["program"])
    assert own(["program", "--name=x", "rest"]) == ["program", "rest"]


def test_enums_and_lists(own: Any) -> None:
    tf.flags.DEFINE_enum("mode", "fast", ["fast", "slow"], "which", flag_values=own)
    tf.flags.DEFINE_list("names", "a,z", "which", flag_values=own)
    own(["program"])
    assert (own.mode, own.names) == ("fast", ["a", "z"])
    own(["program", "--mode=slow", "--names=b,c,d"])
    assert (own.mode, own.names) == ("slow", ["b", "c", "d"])
    with pytest.raises(flags.IllegalFlagValueError, match=r"mode=medium: .* one of <fast\|slow>"):
        own(["program", "--mode=medium"])


def test_both_namespaces_are_one() -> None:
    assert tf.flags.FLAGS is tf.app.flags.FLAGS
    assert flags.FLAGS is tf.flags.FLAGS


def test_flags_that_are_given_several_times(own: Any) -> None:
    flags.DEFINE_multi_integer("size", [16, 8], "sizes", flag_values=own)
    flags.DEFINE_multi_float("rate", 0.5, "rates", flag_values=own)
    flags.DEFINE_multi_string("name", None, "names", flag_values=own)
    flags.DEFINE_multi_enum("kind", ["a"], ["a", "b"], "kinds", flag_values=own)
    flags.DEFINE_spaceseplist("words", "x y", "words", flag_values=own)
    color = enum.Enum("color", "RED GREEN")
    flags.DEFINE_enum_class("color", color.RED, color, "which", flag_values=own)
    own(["program"])
    assert (own.size, own.rate, own.name, own.kind) == ([16, 8], [0.5], None, ["a"])
    assert (own.words, own.color) == (["x", "y"], color.RED)
    own(["program", "--size=3", "--size", "4", "--name=a,b", "--kind=b", "--color=green"])
    assert (own.size, own.name, own.kind, own.color) == ([3, 4], ["a,b"], ["b"], color.GREEN)
    assert own["size"].default == [16, 8] and own["size"].value == [3, 4] and len(own) == 6


def test_validators_and_defaults(own: Any) -> None:
    flags.DEFINE_integer("n", 2, "number", flag_values=own)
    flags.DEFINE_string("a", None, "one", flag_values=own)
    flags.DEFINE_string("b", None, "other", flag_values=own)
    flags.register_validator("n", lambda n: n % 2 == 0, "must be even", flag_values=own)
    flags.mark_flags_as_mutual_exclusive(["a", "b"], flag_values=own)
    with pytest.raises(flags.IllegalFlagValueError, match="flag --n=3: must be even"):
        own(["program", "--n=3"])
    with pytest.raises(flags.IllegalFlagValueError, match=r"At most one of \(a, b\)"):
        own(["program", "--n=4", "--a=1", "--b=2"])


def test_flags_are_absls(own: Any) -> None:
    from absl import flags as absl_flags

    assert tf.flags.BooleanFlag is absl_flags.BooleanFlag
    assert tf.flags.IllegalFlagValueError is absl_flags.IllegalFlagValueError
    flags.DEFINE_integer("of_dataflow", 1, "one")
    absl_flags.DEFINE_integer("of_absl", 2, "two")
    try:
        assert absl_flags.FLAGS["of_dataflow"].value == 1
        assert "of_absl" in tf.flags.FLAGS
        # help lists a program's own flags: those of the module that defined them
        assert absl_flags.FLAGS.find_module_defining_flag("of_dataflow") == __name__
    finally:
        del tf.flags.FLAGS.of_dataflow
        del tf.flags.FLAGS.of_absl


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what ``sys.argv`` has after the program's name."""
    return lambda *arguments: monkeypatch.setattr(sys, "argv", ["program", *arguments])


def test_a_cell_that_runs_again_defines_its_flags_anew(own: Any, command_line: Any) -> None:
    command_line("--rate=3", "-f", "/a/kernel.json")
    for default in (1, 2):
        flags.DEFINE_integer("n", default, "number", flag_values=own)
        assert own.n == default
    flags.DEFINE_integer("rate", 5, "given before it was defined", flag_values=own)
    assert own.rate == 3


def test_a_value_that_a_program_sets_stays(own: Any, command_line: Any) -> None:
    command_line("--n=3")
    flags.DEFINE_integer("n", 2, "number", flag_values=own)
    own.n = 7
    flags.DEFINE_integer("m", 2, "number", flag_values=own)
    assert (own.n, own.m) == (7, 2)
    own.never_defined = [1]
    assert own.never_defined == [1]
    assert sorted(own) == ["m", "n", "never_defined"]


def test_all_flags_are_listed_as_programs_of_tensorflow_1_do(own: Any) -> None:
    flags.DEFINE_integer("n", 2, "number", flag_values=own)
    own(["program", "--n=3"])
    listed = own.__flags
    assert [(name, flag.value, flag.default, flag.help) for name, flag in listed.items()] == [
        ("n", 3, 2, "number")
    ]


def test_programs_for_tensorflow_before_1_5(own: Any, command_line: Any) -> None:
    flags.DEFINE_integer("n", 2, "number", flag_values=own)
    command_line("--n=3", "rest")
    assert own._parse_flags() == ["rest"] and own.is_parsed()
    assert [f"{name}={value}" for name, value in own.__flags.items()] == ["n=3"]
