"""Every set has a module, a card and consistent files."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

import dataflow_datasets
from dataflow_datasets import fetch, registry

PACKAGE = Path(dataflow_datasets.__file__).parent


@pytest.mark.parametrize("name", registry.list_datasets())
def test_set_has_info_and_card(name: str) -> None:
    info = dataflow_datasets.info(name)
    assert info.name == name
    assert info.title
    assert info.license
    text = dataflow_datasets.card(name)
    for needed in ("# ", "**Source**", "**License**", "**Rows**", "## Columns", "unit"):
        assert needed in text, f"cards/{name}.md lacks {needed!r}"
    for file in info.files:
        assert file.name in text
        assert file.urls
        assert all(url.startswith(("https://", "http://")) for url in file.urls)
        assert len(file.sha256) == 64
    assert callable(getattr(dataflow_datasets, name).load_data)


def test_cards_and_names_agree() -> None:
    assert sorted(p.stem for p in (PACKAGE / "cards").glob("*.md")) == sorted(registry.NAMES)


def test_unknown_set_lists_those_there_are() -> None:
    with pytest.raises(KeyError, match="irsi.*iris"):
        registry.module("irsi")
    with pytest.raises(AttributeError):
        _ = dataflow_datasets.irsi


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, dataflow_datasets\n"
        "heavy = {'pandas', 'sklearn', 'numpy', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "name", [n for n in registry.NAMES if registry.info(n).files and n != "text8"]
)
def test_real_files_have_the_stored_checksum(name: str, real_data: Path) -> None:
    checked = 0
    for file in registry.info(name).files:
        path = real_data / file.relative_path
        if not path.exists():
            continue
        raw = path.read_bytes()
        assert len(raw) == file.size_bytes
        assert hashlib.sha256(raw).hexdigest() == file.sha256
        assert fetch.find(file) == path
        checked += 1
    assert checked
