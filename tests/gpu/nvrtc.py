"""NVIDIA's runtime compiler by itself: it is a library, and needs no GPU.

CuPy compiles with it when a kernel is first launched. It comes with the packages
``nvidia-cuda-nvrtc`` and ``nvidia-cuda-runtime`` (the headers), of which the folders may be given in
``DATAFLOW_NVRTC``, separated as in ``PATH``.
"""

from __future__ import annotations

import ctypes
import functools
import os
import site
import sys
from collections.abc import Sequence
from pathlib import Path


class NvrtcError(Exception):
    """A source that the compiler refuses, and what it says."""


def _folders() -> list[Path]:
    given = os.environ.get("DATAFLOW_NVRTC", "")
    roots = [Path(p) for p in given.split(os.pathsep) if p]
    roots += [Path(p) / "nvidia" for p in (*site.getsitepackages(), site.getusersitepackages())]
    return [root for root in roots if root.is_dir()]


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiler; ``None`` where it is not installed."""
    patterns = ("nvrtc64_*.dll",) if sys.platform == "win32" else ("libnvrtc.so.*",)
    for root in _folders():
        for pattern in patterns:
            for path in sorted(root.rglob(pattern)):
                try:
                    return ctypes.CDLL(str(path))
                except OSError:
                    continue
    return None


@functools.cache
def _includes() -> tuple[str, ...]:
    headers = [path for root in _folders() for path in root.rglob("cuda_fp16.h")]
    return tuple(f"--include-path={path.parent}" for path in headers[:1])


def compiled(source: str, architecture: str, options: Sequence[str] = ("-std=c++14",)) -> bytes:
    """The machine code (a cubin) of a source for an architecture such as ``sm_90``.

    Raises `NvrtcError` with the compiler's messages.
    """
    nvrtc = library()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    try:
        given = [*options, f"--gpu-architecture={architecture}", *_includes()]
        texts = (ctypes.c_char_p * len(given))(*[text.encode() for text in given])
        result = nvrtc.nvrtcCompileProgram(program, len(given), texts)
        if result:
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise NvrtcError(log.value.decode())
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, code)
        return code.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
