"""What an explorer asks the learner to find, and checks with the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Challenge(NamedTuple):
    """Something to find with the controls.

    ``check(explorer)`` looks at the explorer as it is set now, runs what it needs (on
    ``explorer.twin()``, so that the picture stays), and returns whether it was found and a sentence
    that says what was measured.
    """

    text: str
    check: Callable[[Any], tuple[bool, str]]
