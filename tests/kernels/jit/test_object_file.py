"""Compiled code is loaded without LLVM, and left to it where there is anything unusual in it."""

from __future__ import annotations

import ctypes
import json
import platform
import sys
from typing import Any

import numpy as np
import pytest

from dataflow.kernels.jit import (
    code_cache,
    compiler,
    object_file,
    step_codegen,
    target,
    ufunc_loops,
)

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

WITH_A_CONSTANT = step_codegen.Loop(
    "float32",
    "vv",
    (("Add", (0, 1)), ("Const", (2.5,)), ("Mul", (2, 3)), ("Tanh", (4,))),
    ((5, "v"),),
)
COPY = """
declare void @memcpy(ptr, ptr, i64)
define void @copy(ptr %to, ptr %from) {
  call void @memcpy(ptr %to, ptr %from, i64 4096)
  ret void
}
define i64 @seven() {
  ret i64 7
}
"""
ELF = sys.platform.startswith("linux") and platform.machine() == "x86_64"


def _computed(function: compiler.Function) -> Any:
    a, b = np.linspace(-3, 2, 133, dtype=np.float32), np.linspace(1, -7, 133, dtype=np.float32)
    out = np.empty_like(a)
    function(133, *map(compiler.address_of, (a, b, out)))
    return out


def test_both_loaders_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    text = compiler.text_of(WITH_A_CONSTANT)
    code, functions = compiler._compiled(text, compiler.WELL), ufunc_loops.addresses(text)
    ours = object_file.load(code, functions, ["loop", "objects"])
    assert (ours is not None) == ELF
    llvms = compiler._loaded_by_llvm(code, functions, ["loop", "objects"])
    assert ours != llvms
    wanted = _computed(compiler.Function(WITH_A_CONSTANT, llvms))
    assert (
        wanted
        == np.tanh(
            (np.linspace(-3, 2, 133, dtype=np.float32) + np.linspace(1, -7, 133, dtype=np.float32))
            * np.float32(2.5)
        )
    ).all()
    if ours is not None:
        assert _computed(compiler.Function(WITH_A_CONSTANT, ours)).tobytes() == wanted.tobytes()
    monkeypatch.setattr(object_file, "load", lambda *_: None)
    assert _computed(compiler.compile_loop(WITH_A_CONSTANT)).tobytes() == wanted.tobytes()


def test_functions_of_the_c_library_are_found() -> None:
    copy, seven = compiler.compile_source(COPY, "copy", "seven")
    a, b = np.arange(512.0), np.zeros(512)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    kind(copy)(compiler.address_of(b), compiler.address_of(a))
    assert (a == b).all()
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(seven)() == 7


@pytest.mark.skipif(not ELF, reason="object files of another system are LLVM's alone")
@pytest.mark.parametrize(
    "unusual",
    ["another format", "cut short", "unknown function", "variables", "distances", "another name"],
)
def test_what_is_unusual_is_left_to_llvm(unusual: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, names = compiler._compiled(COPY, compiler.WELL), ["copy"]
    assert object_file.load(code, {}, names)
    if unusual == "another format":
        code = b"\xcf\xfa\xed\xfe" + code[4:]
    elif unusual == "cut short":
        code = code[: len(code) // 2]
    elif unusual == "unknown function":
        code = compiler._compiled(
            COPY.replace("@memcpy", "@a_function_that_nobody_has"), compiler.WELL
        )
    elif unusual == "variables":
        code = compiler._compiled("@x = global i64 7\n" + COPY, compiler.WELL)
    elif unusual == "distances":
        import llvmlite.binding as llvm

        made = llvm.Target.from_default_triple().create_target_machine(codemodel="small")
        code = made.emit_object(llvm.parse_assembly(COPY))
    else:
        names = ["paste"]
    assert object_file.load(code, {}, names) is None


@pytest.mark.skipif(not ELF, reason="object files of another system are LLVM's alone")
def test_memory_that_cannot_be_made_executable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: int, size: int) -> None:
        raise OSError("not here")

    monkeypatch.setattr(object_file, "_make_executable", refuse)
    assert object_file.load(compiler._compiled(COPY, compiler.WELL), {}, ["copy"]) is None


def test_the_processor_is_noted(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite.binding as llvm

    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path))
    ask = target.target.__wrapped__
    found = ask()
    whole = target._asked_of_llvm()
    assert found == target._capped(whole)
    assert whole.flattened == llvm.get_host_cpu_features().flatten()
    if not sys.platform.startswith("linux"):
        return
    monkeypatch.setattr(target, "_asked_of_llvm", None)
    assert ask() == found
    (noted,) = tmp_path.glob("*.o")
    noted.write_bytes(json.dumps(whole._replace(cpu="another")).encode())
    with pytest.raises(TypeError):  # it is asked again
        ask()


def test_what_linux_says_of_a_processor_of_arm(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part"
    lasting = "".join(f"{name}\t: 8\n" for name in (*names, "CPU revision"))
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\nBogoMIPS\t: 50.00\n{lasting}\nprocessor\t: 1\n{lasting}")
    monkeypatch.setattr(target, "_PROCESSORS", str(path))
    monkeypatch.setattr(sys, "platform", "linux")
    said = target._what_the_system_says()
    assert said is not None and said.endswith(lasting) and "BogoMIPS" not in said


@pytest.mark.parametrize("said", [None, "", "flags\t: sse\n"])
def test_a_system_that_says_little_of_its_processor(
    said: str | None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "kernels"))
    path = tmp_path / "cpuinfo"
    if said is not None:
        path.write_text(said)
    monkeypatch.setattr(target, "_PROCESSORS", str(path))
    assert target._what_the_system_says() is None
    assert target.target.__wrapped__() == target.target()
    assert not list((tmp_path / "kernels").glob("*"))
