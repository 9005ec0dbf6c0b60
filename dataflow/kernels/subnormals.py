"""Subnormal numbers count as zero while kernels compute, as in TensorFlow.

A number below the smallest normal one (1.2e-38 for float32, 2.2e-308 for float64) takes most processors
a hundred times as long as any other. A training whose loss becomes small makes many of them: Adam's
moments shrink with the gradients. So the processor is told to take them for zero (x86: FTZ and DAZ of
MXCSR, ARM: FZ of FPCR) around every step and in every thread that computes for one. The setting is a
thread's own; that of the caller comes back after the step, and Python functions of the user
(``tf.py_func``) run as outside of one.

The C library's `fegetenv` and `fesetenv` reach the registers without a compiler. Where they cannot be
found, or do not do it, `begin_flushing` does nothing, and results below the smallest normal number
are subnormal.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import platform
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

#: ``fenv_t`` as 32-bit numbers; the largest of any platform has 8.
_Environment = ctypes.c_uint32 * 16


class _Register(NamedTuple):
    """Where ``fenv_t`` holds the control register: which 32-bit number, and its values."""

    place: int
    usual: int
    flushing: int


_MXCSR_USUAL, _FTZ, _DAZ = 0x1F80, 0x8000, 0x0040
_FPCR_USUAL, _FZ = 0, 1 << 24


def _register() -> _Register | None:
    """That of this platform; ``None`` where it is not known."""
    machine, is_mac = platform.machine().lower(), sys.platform == "darwin"
    if not is_mac and not sys.platform.startswith("linux"):
        return None
    if machine in ("x86_64", "amd64"):
        return _Register(1 if is_mac else 7, _MXCSR_USUAL, _MXCSR_USUAL | _FTZ | _DAZ)
    if machine in ("aarch64", "arm64"):
        return _Register(2 if is_mac else 0, _FPCR_USUAL, _FPCR_USUAL | _FZ)
    return None


def _nothing(environment: Any) -> None:
    """Where the processor cannot be told."""


def _is_zero() -> bool:
    """Whether a product that is subnormal comes out as zero."""
    with np.errstate(all="ignore"):
        return not (np.full(8, 1e-30, np.float32) * np.float32(1e-10)).any()


def _find() -> tuple[Any, Any, Any, Any]:
    """The functions that read and set the environment, and those outside and inside of a step."""
    nothing = (_nothing, _nothing, None, None)
    register = _register()
    if register is None:
        return nothing
    for library in (None, "libm.so.6"):
        try:
            # `PyDLL`: a call that gave up the interpreter's lock could lose it to another thread.
            functions = ctypes.PyDLL(library)
            read, write = functions.fegetenv, functions.fesetenv
            break
        except (OSError, AttributeError):
            continue
    else:
        return nothing
    read.restype = write.restype = None
    usual, flushing = _Environment(), _Environment()
    for environment, value in ((usual, register.usual), (flushing, register.flushing)):
        read(environment)
        environment[register.place] = value
    before = _Environment()
    read(before)
    write(flushing)
    flushes = _is_zero()
    write(before)
    if not flushes or _is_zero():
        return nothing
    return read, write, ctypes.byref(usual), ctypes.byref(flushing)


_read, _write, _USUAL, _FLUSHING = _find()
#: Whether this machine takes subnormal numbers for zero.
IS_AVAILABLE = _FLUSHING is not None
_spare: list[Any] = []


def begin_flushing(environment: Any = _FLUSHING) -> Any:
    """From now on this thread takes subnormal numbers for zero; `end_flushing` takes the result."""
    try:
        before = _spare.pop()
    except IndexError:
        before = ctypes.byref(_Environment())
    _read(before)
    _write(environment)
    return before


def end_flushing(before: Any) -> None:
    """This thread computes again as it did before."""
    _write(before)
    _spare.append(before)


def _error_switches() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """What turns NumPy's warnings off, and what turns them on again, given what the former returned.

    `np.errstate` does the same in five times the time: it makes the setting anew each time.
    """
    try:
        from numpy._core.umath import _extobj_contextvar as setting, _make_extobj
    except ImportError:  # NumPy 1

        def begin() -> Any:
            errors = np.errstate(all="ignore")
            errors.__enter__()
            return errors

        return begin, lambda errors: errors.__exit__(None, None, None)
    ignored = _make_extobj(all="ignore")
    return functools.partial(setting.set, ignored), setting.reset


begin_ignoring, end_ignoring = _error_switches()


def compute_in_this_thread() -> None:
    """As `Computing`, until this thread ends: for one that is the engine's own."""
    np.seterr(all="ignore")
    _write(_FLUSHING)


class Computing:
    """The context in which kernels are called: no warnings, and subnormal numbers count as zero."""

    __slots__ = ("_before", "_errors")

    def __enter__(self) -> None:
        self._errors = begin_ignoring()
        self._before = begin_flushing()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _write(self._before)
        _spare.append(self._before)
        end_ignoring(self._errors)


@contextlib.contextmanager
def as_outside() -> Iterator[None]:
    """Inside, a step's thread computes as any other program: for functions of the user."""
    before = begin_flushing(_USUAL)
    try:
        yield
    finally:
        end_flushing(before)
