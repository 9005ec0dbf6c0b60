"""One spelling, TensorFlow's: American, in the engine, the widgets, the data sets, the lessons and the tests."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: "cancelled" is not among them: TensorFlow's error class is spelled so. Nor is "Greys", a color map.
_BRITISH = re.compile(
    r"colour|neighbour|behaviour|favour|honour|rigour|centred|centring|centre\b|centres|\bgrey(?!s_)|licence|"
    r"analyse|(?:initial|normal|optim|serial|recogn|organ|general|minim|maxim|regular|vector|"
    r"synchron|summar|parallel|util)is(?:e|ed|er|ers|es|ing|ation)\b|labelled(?!by)|labelling|modelling|"
    r"travelled|travelling",
    re.IGNORECASE,
)
_FOLDERS = ("dataflow", "widgets", "datasets", "lessons", "tests", "tools")
_SUFFIXES = (".py", ".pyi", ".md", ".ipynb", ".js", ".mjs", ".css")
#: The build's output, other people's files, and what this test itself names.
_LEFT_OUT = ("node_modules", "built", "test_spelling.py", ".ipynb_checkpoints")
#: Calls in learners' notebooks: the former name is still taken.
_FORMER_NAME = "    neighbours = neighbors  # its former name, in notebooks of learners\n"


def british_words(text: str) -> list[str]:
    """Every British spelling in a text."""
    return _BRITISH.findall(text.replace(_FORMER_NAME, ""))


def test_everything_is_spelled_as_tensorflow_is() -> None:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in _FOLDERS:
        for place, inner, names in os.walk(ROOT / folder):
            inner[:] = [name for name in inner if name not in _LEFT_OUT]
            files += [Path(place, name) for name in names if name not in _LEFT_OUT]
    files = [path for path in files if path.suffix in _SUFFIXES]
    assert {path.suffix for path in files} >= set(_SUFFIXES)
    found = {
        str(path.relative_to(ROOT)): words
        for path in files
        if (words := british_words(path.read_text(encoding="utf-8")))
    }
    assert not found


def test_words_that_only_look_british_pass() -> None:
    assert british_words("Colour of the centre, initialised") == ["Colour", "centre", "initialised"]
    assert british_words("Grey, initialisers, travelled") == ["Grey", "initialisers", "travelled"]
    assert not british_words(
        "color, center, promise, exercise, parallelism, precise, otherwise, aria-labelledby"
    )
    assert not british_words('cmap="Greys_r", neighbors, a license, analysis')
