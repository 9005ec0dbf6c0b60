"""``tensorflow.python.eager.test``: `tf.test` of programs whose tests run eagerly."""

from __future__ import annotations

from typing import Any

from dataflow.graph.eager import enable_eager_execution
from dataflow.test import main as _main

__all__ = ["main"]


def main(argv: Any = None) -> None:
    """`tf.test.main` in eager code."""
    enable_eager_execution()
    _main(argv)
