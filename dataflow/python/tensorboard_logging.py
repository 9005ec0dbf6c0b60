"""``tensorflow.python.training.tensorboard_logging``: log lines that go into an event file too."""

from __future__ import annotations

import importlib
from typing import Any

from dataflow import logging
from dataflow.formats.event_files import new_event

__all__ = [
    *("DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "get_verbosity"),
    *("info", "log", "set_summary_writer", "set_verbosity", "warn"),
]

DEBUG, INFO, WARN, ERROR, FATAL = "DEBUG", "INFO", "WARN", "ERROR", "FATAL"

#: The number of a level in the message ``LogMessage``; verbosity counts the same way.
_NUMBERS = {DEBUG: 10, INFO: 20, WARN: 30, ERROR: 40, FATAL: 50}
_UNSET = object()
_state: dict[str, Any] = {"verbosity": WARN, "writer": _UNSET}


def get_verbosity() -> str:
    """The level from which on lines go into the event file."""
    return str(_state["verbosity"])


def set_verbosity(verbosity: str) -> None:
    """Sets the level from which on lines go into the event file; raises `ValueError` for no level."""
    _checked(verbosity)
    _state["verbosity"] = verbosity


def set_summary_writer(summary_writer: Any) -> None:
    """The `FileWriter` that gets lines; with None they are only logged."""
    _state["writer"] = summary_writer


def _clear_summary_writer() -> None:
    _state["writer"] = _UNSET


def _checked(level: str) -> int:
    if level not in _NUMBERS:
        raise ValueError(f"Level {level} is not a valid tensorboard_logging level")
    return _NUMBERS[level]


def log(level: str, message: str, *args: Any) -> None:
    """Logs ``message % args``, and adds it to the event file.

    Raises `ValueError` for no level, `RuntimeError` before `set_summary_writer` was called.
    """
    number = _checked(level)
    writer = _state["writer"]
    if writer is _UNSET:
        raise RuntimeError(
            "Must call set_summary_writer before doing any logging from tensorboard_logging"
        )
    if writer is not None and number >= _NUMBERS[_state["verbosity"]]:
        from tensorboard.compat.proto.event_pb2 import LogMessage

        text = message % args if args else message
        writer.add_event(new_event(log_message=LogMessage(level=number, message=text)))
    # Tests put a function of their own into the module of this name.
    module = importlib.import_module("dataflow.python.platform.tf_logging")
    module.log(getattr(logging, level), message, *args)


def debug(message: str, *args: Any) -> None:
    """`log` at level DEBUG."""
    log(DEBUG, message, *args)


def info(message: str, *args: Any) -> None:
    """`log` at level INFO."""
    log(INFO, message, *args)


def warn(message: str, *args: Any) -> None:
    """`log` at level WARN."""
    log(WARN, message, *args)


def error(message: str, *args: Any) -> None:
    """`log` at level ERROR."""
    log(ERROR, message, *args)


def fatal(message: str, *args: Any) -> None:
    """`log` at level FATAL."""
    log(FATAL, message, *args)
