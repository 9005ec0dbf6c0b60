"""``tensorflow.python.util.tf_should_use``: decorators of functions whose result should be used.

Nobody is warned here: what a graph holds and no fetch needs can be seen in its view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def should_use_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn


must_use_result_or_fatal = should_use_result
