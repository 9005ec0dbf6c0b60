"""What this machine can do: threads, processes, sockets, machine code.

The one place that says so; every part asks it. In WebAssembly (Pyodide, JupyterLite) there is none of
them. ``DATAFLOW_THREADS=0`` in the environment makes any machine such a one, to try it out.

The answers are constants of the process, so that a branch on them costs nothing in a run.
"""

from __future__ import annotations

import os
import sys

from dataflow.errors import UnimplementedError
from dataflow.extras import install

#: Platforms that are known to have threads; another is asked by starting one.
_WITH_THREADS = (
    "linux",
    "darwin",
    "win32",
    "cygwin",
    "freebsd",
    "openbsd",
    "netbsd",
    "sunos",
    "aix",
)


def _can_start_threads() -> bool:
    wanted = os.environ.get("DATAFLOW_THREADS", "")
    if wanted not in ("", "0", "1"):
        raise ValueError(
            f"DATAFLOW_THREADS={wanted!r} in the environment: it must be 0 (do without threads) or 1"
        )
    if wanted == "0":
        return False
    if sys.platform.startswith(_WITH_THREADS):
        return True
    try:
        import _thread

        _thread.start_new_thread(_nothing, ())
    except (ImportError, RuntimeError, OSError):
        return False
    return True


def _instruction_set() -> str:
    wanted = os.environ.get("DATAFLOW_ISA", "")
    if wanted not in ("", "avx2"):
        raise ValueError(
            f"DATAFLOW_ISA={wanted!r} in the environment: it must be avx2 (do without AVX-512) or unset"
        )
    return wanted


#: What to do about what cannot be had here.
ELSEWHERE = f"install dataflow on a computer of yours ({install('cluster')}), and run it there."


def _nothing() -> None:
    """What the thread does that is started to see whether one can be."""


#: Whether threads can be started. Without them, work is shared out by `runtime.cooperative`.
THREADS = _can_start_threads()
#: Whether other processes can be started, and sockets opened.
PROCESSES = SOCKETS = THREADS
#: Whether machine code can be compiled and called.
MACHINE_CODE = THREADS
#: "avx2" where machine code must leave AVX-512 alone, else "": to measure here what another computer does.
#: (NumPy has ``NPY_DISABLE_CPU_FEATURES``, its OpenBLAS ``OPENBLAS_CORETYPE=Haswell``.)
INSTRUCTION_SET = _instruction_set()


def why_not() -> str:
    """Why this machine has none of them, as the beginning of a sentence."""
    if os.environ.get("DATAFLOW_THREADS") == "0":
        return "DATAFLOW_THREADS=0 is set"
    if sys.platform == "emscripten":
        return "Python runs in a web page here"
    return "this Python cannot start threads"


def refused(what: str, needs: str, instead: str) -> UnimplementedError:
    """The error for what cannot be had here: one sentence that says where it can.

    ``what`` cannot be had, as it ``needs`` something; ``instead`` is what to do.
    """
    return UnimplementedError(None, None, f"{what} needs {needs}, and {why_not()}: {instead}")
