"""`tf.app`: the entry point of scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dataflow import flags as flags


def run(main: Callable[..., Any] | None = None, argv: list[str] | None = None) -> None:
    """Parses the flags, calls ``main(argv)`` with what they left, and exits with its result."""
    if main is None:
        main = sys.modules["__main__"].main
    assert main is not None
    arguments = flags.FLAGS(argv if argv is not None else sys.argv)
    sys.exit(main(arguments))
