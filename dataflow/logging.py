"""`tf.logging`: messages with levels, through Python's own logging under the name "tensorflow"."""

from __future__ import annotations

import logging as _logging
import sys
import threading
import time
from typing import Any

DEBUG = _logging.DEBUG
INFO = _logging.INFO
WARN = _logging.WARNING
ERROR = _logging.ERROR
FATAL = _logging.FATAL

_NAMES = {DEBUG: "DEBUG", INFO: "INFO", WARN: "WARNING", ERROR: "ERROR", FATAL: "FATAL"}
_lock = threading.Lock()
_counts: dict[str, int] = {}
_last_seconds: dict[str, float] = {}


class _StandardError(_logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what ``sys.stderr`` is now, so that notebook cells show their own messages."""

    def __init__(self) -> None:
        _logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass


class _Format(_logging.Formatter):
    def format(self, record: _logging.LogRecord) -> str:
        level = _NAMES.get(record.levelno, record.levelname)
        return f"{level}:{record.name}:{record.getMessage()}"


def get_logger() -> _logging.Logger:
    """The logger behind these functions; it writes to standard error."""
    logger = _logging.getLogger("tensorflow")
    if not logger.handlers:
        with _lock:
            if not logger.handlers:
                handler = _StandardError()
                handler.setFormatter(_Format())
                logger.addHandler(handler)
                logger.propagate = False
                if logger.level == _logging.NOTSET:
                    logger.setLevel(WARN)
    return logger


def set_verbosity(v: Any) -> None:
    """Shows messages of level ``v`` and above (`WARN` by default)."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level from which messages are shown."""
    return get_logger().getEffectiveLevel()


def log(level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of a level; ``args`` are put in with ``%``."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of level INFO."""
    get_logger().info(msg, *args, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of level WARN."""
    get_logger().warning(msg, *args, **kwargs)


warning = warn


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of level ERROR."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of level FATAL."""
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of a numeric level."""
    get_logger().log(level, msg, *args, **kwargs)


def flush() -> None:
    """Writes out what is buffered."""
    for handler in get_logger().handlers:
        handler.flush()


def TaskLevelStatusMessage(msg: Any) -> None:
    """Writes a message of level ERROR."""
    error(msg)


def log_every_n(level: Any, msg: Any, n: int, *args: Any) -> None:
    """Writes the message the first time and then every ``n``-th time."""
    with _lock:
        count = _counts[msg] = _counts.get(msg, -1) + 1
    log_if(level, msg, not count % n, *args)


def log_first_n(level: Any, msg: Any, n: int, *args: Any) -> None:
    """Writes the message the first ``n`` times."""
    with _lock:
        count = _counts[msg] = _counts.get(msg, -1) + 1
    log_if(level, msg, count < n, *args)


def log_every_n_seconds(level: Any, msg: Any, n_seconds: float, *args: Any) -> None:
    """Writes the message at most once in ``n_seconds``."""
    now = time.monotonic()
    with _lock:
        due = now - _last_seconds.get(msg, -1e9) >= n_seconds
        if due:
            _last_seconds[msg] = now
    log_if(level, msg, due, *args)


def log_if(level: Any, msg: Any, condition: Any, *args: Any) -> None:
    """Writes the message when ``condition`` holds."""
    if condition:
        log(level, msg, *args)
