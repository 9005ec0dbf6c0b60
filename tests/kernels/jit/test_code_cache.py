"""Machine code on disk is found again, and never taken for what it is not."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dataflow.kernels.jit import code_cache, compiler, drafts, step_codegen
from dataflow.kernels.jit.target import target

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

LOOP = step_codegen.Loop("float32", "vv", (("Add", (0, 1)), ("Tanh", (2,))), ((3, "v"),))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target()  # noted elsewhere
    # What other tests have compiled is not improved meanwhile: it would be stored here.
    monkeypatch.setattr(drafts._Improver, "_next", lambda _: None)
    folder = tmp_path / "kernels"
    monkeypatch.setenv(code_cache.VARIABLE, str(folder))
    return folder


def _result() -> list[float]:
    function = compiler.compile_loop(LOOP)
    a, b, out = (np.linspace(-2, 2, 37, dtype=np.float32) for _ in range(3))
    function(37, *(compiler.address_of(x) for x in (a, b, out)))
    np.testing.assert_allclose(out, np.tanh(a + b), rtol=1e-5)
    return out.tolist()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*"))


def test_code_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite.binding as llvm

    first = _result()
    (file,) = _files(folder)
    assert file.suffix == ".o"

    def parse(text: str) -> object:
        assert text == "", "it was compiled again"
        return original(text)

    original = llvm.parse_assembly
    monkeypatch.setattr(llvm, "parse_assembly", parse)
    assert _result() == first
    assert _files(folder) == [file]


def test_another_process_finds_it(folder: Path) -> None:
    _result()
    program = (
        "from dataflow.kernels.jit import compiler\n"
        "from tests.kernels.jit import test_code_cache as t\n"
        "compiler._compiled = None\n"
        "print(t._result())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(_result())


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="object files of another system are loaded by LLVM",
)
def test_a_process_that_finds_all_its_code_does_without_llvm() -> None:
    program = (
        "import sys\n"
        "from dataflow.kernels.jit import compiler, isa\n"
        "from tests.kernels.jit.test_code_cache import _result\n"
        "_result(), isa.host()\n"
        "print('llvmlite.binding' in sys.modules)"
    )
    for wanted in ("True", "False"):
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.stdout.strip() == wanted, ran.stderr


def test_what_else_the_code_depends_on_is_in_its_name(folder: Path) -> None:
    keys = {code_cache.key_of(*parts) for parts in (["a", "b"], ["ab"], ["a", "c"], ["b", "a"])}
    assert len(keys) == 4
    code_cache.store(code_cache.key_of("a"), b"code")
    assert code_cache.load(code_cache.key_of("a")) == b"code"
    assert code_cache.load(code_cache.key_of("b")) is None


@pytest.mark.parametrize("damage", ["cut short", "other bytes", "empty"])
def test_a_damaged_file_is_not_used(folder: Path, damage: str) -> None:
    first = _result()
    (file,) = _files(folder)
    content = file.read_bytes()
    damaged = {"cut short": content[:-100], "other bytes": b"x" * len(content), "empty": b""}
    file.write_bytes(damaged[damage])
    assert _result() == first
    assert file.read_bytes() == content, "the next process finds it whole again"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_code_that_others_could_have_written_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    code_cache.store("key", b"code")
    assert _files(folder) == []
    (folder / "key.o").write_bytes(b"code")
    assert code_cache.load("key") is None


def test_nothing_is_kept_where_nobody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, "")
    code_cache.store("key", b"code")
    assert code_cache.load("key") is None
    _result()


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "file" / "kernels"))
    code_cache.store("key", b"code")
    assert code_cache.load("key") is None
    _result()


def test_the_users_cache_without_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(code_cache.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code_cache._folder.cache_clear()
    code_cache.store("key", b"code")
    code_cache._folder.cache_clear()
    assert [p.name for p in _files(tmp_path / "dataflow" / "kernels")] == ["key.o"]


def test_the_files_used_last_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(4):
        code_cache.store(f"key{i}", bytes(100))
        os.utime(folder / f"key{i}.o", (1000 + i, 1000 + i))
    assert code_cache.load("key0") == bytes(100)  # used: now the youngest
    monkeypatch.setattr(code_cache, "MOST_BYTES", 3 * 140)
    code_cache.store("key4", bytes(100))
    assert sorted(p.stem for p in _files(folder)) == ["key0", "key3", "key4"]
