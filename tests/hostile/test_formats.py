"""A few hundred damaged inputs of every format; ``make fuzz`` tries ten thousand of each."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from tests.hostile.formats import FORMATS
from tests.hostile.harness import Format, damaged, run

SEED = 1


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_input_is_read_or_refused_clearly(name: str, tmp_path: Path) -> None:
    outcome = run(FORMATS[name], SEED, range(40), tmp_path)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.tried == 40
    assert outcome.refused


@pytest.mark.parametrize("name", FORMATS)
def test_an_input_is_the_same_when_it_is_made_again(name: str) -> None:
    assert [damaged(FORMATS[name], SEED, i) for i in range(5)] == [
        damaged(FORMATS[name], SEED, i) for i in range(5)
    ]


def _read_badly(item: str, folder: Path) -> Any:
    if item == "key":
        return {}[item]
    if item == "nameless":
        raise ValueError("something is wrong")
    if item == "unknown":
        raise tf.errors.UnknownError(None, None, "file: what?")
    if item == "large":
        return bytearray(b"\1" * (250 << 20))[-1]
    if item == "clear":
        raise tf.errors.DataLossError(None, None, "file: damaged")
    return None


@pytest.mark.parametrize(
    ("item", "failure"),
    [
        ("key", "refused unclearly: KeyError"),
        ("nameless", "refused without a name"),
        ("unknown", "refused unclearly: UnknownError"),
        ("large", " MB"),
        ("clear", ""),
        ("fine", ""),
    ],
)
def test_the_harness_finds_what_it_looks_for(item: str, failure: str, tmp_path: Path) -> None:
    bad = Format("bad", lambda: ["fine"], lambda _, rng: item, _read_badly, "file")
    outcome = run(bad, SEED, range(2), tmp_path)
    assert len(outcome.failures) == (2 if failure else 0)
    for index, text in enumerate(outcome.failures):
        assert failure in text
        assert f"python -m tests.hostile bad --seed {SEED} --index {index}" in text
    assert (outcome.accepted, outcome.refused) == {"clear": (0, 2), "fine": (2, 0)}.get(
        item, (0, 0)
    )


def test_damage_depends_on_the_index_alone() -> None:
    letters = Format("letters", lambda: [b"abc" * 20], _shuffle, lambda *_: None, "")
    assert damaged(letters, 0, 7) == damaged(letters, 0, 7)
    assert damaged(letters, 0, 7) != damaged(letters, 0, 8)
    assert damaged(letters, 0, 7) != damaged(letters, 1, 7)


def _shuffle(data: bytes, rng: random.Random) -> bytes:
    return bytes(rng.sample(list(data), len(data)))
