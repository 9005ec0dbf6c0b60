"""What a class's server does not take: an HTTP status and one sentence."""

from __future__ import annotations


class Refusal(Exception):
    """A message that is refused. ``status`` is HTTP's, ``str(refusal)`` one sentence for its sender."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class TooManyMessages(Refusal):
    """A sender that is too quick; ``seconds`` is when to try again."""

    def __init__(self, seconds: int, what: str = "messages") -> None:
        super().__init__(429, f"Too many {what}: try again in {seconds} s.")
        self.seconds = seconds
