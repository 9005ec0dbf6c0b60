"""`tf.logging`: levels, and where the messages go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def verbosity() -> Iterator[None]:
    before = tf.logging.get_verbosity()
    yield
    tf.logging.set_verbosity(before)


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (tf.logging.DEBUG, ["DEBUG", "INFO", "WARNING", "ERROR"]),
        (tf.logging.INFO, ["INFO", "WARNING", "ERROR"]),
        (tf.logging.WARN, ["WARNING", "ERROR"]),
        (tf.logging.ERROR, ["ERROR"]),
        (tf.logging.FATAL, []),
    ],
)
def test_messages_from_a_level_up(
    level: int, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tf.logging.set_verbosity(level)
    assert tf.logging.get_verbosity() == level
    tf.logging.debug("number %d", 1)
    tf.logging.info("number %d", 2)
    tf.logging.warning("number %d", 3)
    tf.logging.error("number %d", 4)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.partition(":")[0] for line in lines] == shown
    numbers = {"DEBUG": 1, "INFO": 2, "WARNING": 3, "ERROR": 4}
    assert lines == [f"{name}:tensorflow:number {numbers[name]}" for name in shown]


def test_names_of_the_old_ways(capsys: pytest.CaptureFixture[str]) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.warn("w")
    tf.logging.log(tf.logging.INFO, "a %s", "b")
    tf.logging.log_if(tf.logging.INFO, "no", False)
    tf.logging.log_if(tf.logging.INFO, "yes", True)
    assert capsys.readouterr().err.splitlines() == [
        "WARNING:tensorflow:w",
        "INFO:tensorflow:a b",
        "INFO:tensorflow:yes",
    ]


def test_every_so_often(capsys: pytest.CaptureFixture[str]) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    for i in range(7):
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 3, i)
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, i)
    lines = [line.rpartition(":")[2] for line in capsys.readouterr().err.splitlines()]
    assert [line for line in lines if line.startswith("every")] == ["every 0", "every 3", "every 6"]
    assert [line for line in lines if line.startswith("first")] == ["first 0", "first 1"]


def test_a_message_with_a_percent_sign_and_no_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tf.logging.error("100%")
    assert capsys.readouterr().err == "ERROR:tensorflow:100%\n"
