"""Kernels are found, whichever file was loaded first."""

from __future__ import annotations

import pathlib
import re

import pytest

from dataflow.kernels import all as all_files
from dataflow.kernels.jit.regions import _OTHERS
from dataflow.kernels.loader import get_kernel

FOLDER = pathlib.Path(all_files.__file__).parent


def test_every_file_of_kernels_is_among_all() -> None:
    listed = re.findall(
        r"^    (\w+) as ", pathlib.Path(all_files.__file__).read_text(), re.MULTILINE
    )
    files = [
        f for f in FOLDER.glob("*.py") if re.search(r"^@kernel\(", f.read_text(), re.MULTILINE)
    ]
    assert len(files) > 60
    assert {f.stem for f in files} <= set(listed)


@pytest.mark.parametrize("op", _OTHERS)
def test_regions_know_the_files_of_their_kernels(op: str) -> None:
    found = get_kernel(op)
    assert found is not None
    assert found.function.__module__ == f"dataflow.kernels.{_OTHERS[op]}"
