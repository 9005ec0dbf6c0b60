"""One spelling, TensorFlow's: American."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: "cancelled" is not among them: TensorFlow's error class is spelled so.
_BRITISH = re.compile(
    r"colour|neighbour|behaviour|favour|honour|rigour|centred|centring|centre\b|centres|grey|licence|"
    r"analyse|(?:initial|normal|optim|serial|recogn|organ|general|minim|maxim|regular|vector|"
    r"synchron|summar|parallel|util)is(?:e|ed|er|es|ing|ation)\b|labelled|labelling|modelling|travelling",
    re.IGNORECASE,
)


def british_words(text: str) -> list[str]:
    """Every British spelling in a text."""
    return _BRITISH.findall(text)


def test_the_engine_is_spelled_as_tensorflow_is() -> None:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    files += [
        path
        for path in sorted((ROOT / "dataflow").rglob("*"))
        if path.suffix in (".py", ".pyi", ".md")
    ]
    found = {
        str(path.relative_to(ROOT)): words
        for path in files
        if (words := british_words(path.read_text(encoding="utf-8")))
    }
    assert not found


def test_words_that_only_look_british_pass() -> None:
    assert british_words("Colour of the centre, initialised") == ["Colour", "centre", "initialised"]
    assert not british_words("color, center, promise, exercise, parallelism, precise, otherwise")
