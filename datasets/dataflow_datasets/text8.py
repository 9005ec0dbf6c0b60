"""text8: the first 100 MB of cleaned English Wikipedia of 2006, lower-case letters and spaces."""

from __future__ import annotations

from .fetch import fetch
from .registry import DatasetInfo, RemoteFile

FILE = RemoteFile(
    "text",
    "text8",
    ("https://mattmahoney.net/dc/text8.zip", "http://mattmahoney.net/dc/text8.zip"),
    "6e890197040d37d85beb962ae1f041ff1d9a9ca8d20c7d99c85027eebf51dca7",
    100_000_000,
    member="text8",
)
INFO = DatasetInfo(
    name="text8",
    title="17 million words of Wikipedia, 2006",
    license="CC BY-SA 3.0 (Wikipedia), prepared by M. Mahoney",
    files=(FILE,),
)


def load_data(num_words: int | None = None) -> list[str]:
    """The text as a list of words, or only its first ``num_words``."""
    with fetch(FILE).open(encoding="ascii") as opened:
        if num_words is None:
            return opened.read().split()
        words: list[str] = []
        rest = ""
        while len(words) <= num_words and (chunk := opened.read(1 << 20)):
            pieces = (rest + chunk).split(" ")
            rest = pieces.pop()  # the chunk may end inside a word
            words += [piece for piece in pieces if piece]
        if rest and len(words) < num_words:
            words.append(rest)
        return words[:num_words]
