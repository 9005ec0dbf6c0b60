"""What is said of names that are not here names what is, and nothing that is here."""

from __future__ import annotations

import re
from typing import Any

import pytest

import dataflow as tf
from dataflow import missing


def found(path: str) -> bool:
    value: Any = tf
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def test_what_is_called_absent_is() -> None:
    here = [path for path in missing.paths() if found(path)]
    assert here == []


def test_what_is_advised_is_here() -> None:
    written = {
        (path, name)
        for path in missing.paths()
        for name in re.findall(r"\btf\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", missing.advice(path))
    }
    assert len(written) > 50
    assert sorted((path, name) for path, name in written if not found(name)) == []


@pytest.mark.parametrize(
    "path", ["contrib.ffmpeg", "contrib.timeseries.StructuralEnsembleRegressor"]
)
def test_the_advice_is_what_a_program_reads(path: str) -> None:
    outer, _, name = path.rpartition(".")
    module: Any = tf
    for part in outer.split("."):
        module = getattr(module, part)
    with pytest.raises(AttributeError, match=re.escape(missing.advice(path)[1:40])):
        getattr(module, name)
