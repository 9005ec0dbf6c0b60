"""`tf.app`: the entry point of scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dataflow import flags as flags


def run(main: Callable[..., Any] | None = None, argv: list[str] | None = None) -> None:
    """Parses the flags, calls ``main(argv)`` with what they left, and exits with its result.

    A flag with a value that does not fit ends the program with status 1, as ``--help`` does.
    """
    from absl.app import define_help_flags

    if main is None:
        main = sys.modules["__main__"].main
    assert main is not None
    define_help_flags()
    try:
        arguments = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
        print("Pass --help to see the program's flags.", file=sys.stderr)
        sys.exit(1)
    sys.exit(main(arguments))
