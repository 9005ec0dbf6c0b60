"""Two books of the public domain: Anna Karenina, and a selection of Shakespeare's plays."""

from __future__ import annotations

import re

from .fetch import fetch
from .registry import DatasetInfo, RemoteFile

FILES = {
    "anna_karenina": RemoteFile(
        "text",
        "anna_karenina.txt",
        (
            "https://raw.githubusercontent.com/udacity/deep-learning/master/intro-to-rnns/anna.txt",
            "https://raw.githubusercontent.com/udacity/deep-learning-v2-pytorch/master/"
            "recurrent-neural-networks/char-rnn/data/anna.txt",
        ),
        "568bb39fc78aca98e9db91c4329dcd1aa5ec4c3df3aca2064ce5d6f023ae16c9",
        2_025_486,
    ),
    "tiny_shakespeare": RemoteFile(
        "text",
        "tiny_shakespeare.txt",
        (
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        ),
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        1_115_394,
    ),
}
INFO = DatasetInfo(
    name="books",
    title="a novel and a selection of plays in English, 3.1 MB",
    license="public domain",
    files=tuple(FILES.values()),
)

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")


def load_text(name: str) -> str:
    """The text of ``"anna_karenina"`` or ``"tiny_shakespeare"``, with ``\\n`` line ends.

    Raises `KeyError` for another name.
    """
    if name not in FILES:
        raise KeyError(f"No book is called {name!r}. There are: {', '.join(FILES)}.")
    return fetch(FILES[name]).read_bytes().decode("utf-8").replace("\r\n", "\n")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case: runs of letters, apostrophes inside words kept."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def load_data() -> list[str]:
    """The words of both books, one after the other, in lower case."""
    return [word for name in FILES for word in split_words(load_text(name))]
