"""The processor that machine code is compiled for, as LLVM describes it.

LLVM finds these out, but loading it takes 30 ms and 40 MB, which a process does not need whose code has all been
compiled before. So they are kept beside that code (`code_cache`), under the name of what the system says of the
processor.
"""

from __future__ import annotations

import functools
import json
import platform
import sys
from typing import Any, NamedTuple

from dataflow.capabilities import INSTRUCTION_SET
from dataflow.kernels.jit import code_cache

_PROCESSORS = "/proc/cpuinfo"
#: The lines there that stay the same on one machine, of x86 and of ARM; others say how fast it runs just now.
_LASTING = (
    {"vendor_id", "cpu family", "model", "model name", "stepping", "flags"},
    {"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"},
)


class Target(NamedTuple):
    """What code is made for: versions of llvmlite and LLVM, the platform, the processor's name and features."""

    versions: tuple[str, str]
    triple: str
    cpu: str
    features: dict[str, bool]

    @property
    def flattened(self) -> str:
        """The features as LLVM takes them."""
        return ",".join(("+" if on else "-") + name for name, on in sorted(self.features.items()))


@functools.cache
def target() -> Target:
    """This processor. Raises `ImportError` without llvmlite, which is loaded where no process has noted the answer.

    ``DATAFLOW_ISA=avx2`` leaves AVX-512 alone (`capabilities.INSTRUCTION_SET`).
    """
    import llvmlite

    said = _what_the_system_says()
    key = code_cache.key_of("target", llvmlite.__version__, said or "")
    noted = code_cache.load(key) if said is not None else None
    if noted is not None:
        versions, *others = json.loads(noted)
        found = Target(tuple(versions), *others)
    else:
        found = _asked_of_llvm()
        if said is not None:
            code_cache.store(key, json.dumps(found).encode())
    return _capped(found)


def _asked_of_llvm() -> Target:
    import llvmlite
    import llvmlite.binding as llvm

    versions = llvmlite.__version__, str(llvm.llvm_version_info)
    features: Any = llvm.get_host_cpu_features()
    return Target(versions, llvm.get_default_triple(), llvm.get_host_cpu_name(), {**features})


def _capped(found: Target) -> Target:
    capped = {
        name: on and not name.startswith(("avx512", "avx10")) for name, on in found.features.items()
    }
    if (
        INSTRUCTION_SET != "avx2" or capped == found.features
    ):  # as those of ARM, which know no x86-64-v3
        return found
    return found._replace(cpu="x86-64-v3", features=capped)


def _what_the_system_says() -> str | None:
    """The system's description of the processor; ``None`` where it gives none that is complete."""
    if not sys.platform.startswith("linux"):
        return None
    said: dict[str, str] = {}
    try:
        with open(_PROCESSORS, encoding="utf-8") as file:
            for line in file:
                if not line.strip():  # the next processor
                    break
                said[line.split(":")[0].strip()] = line
    except OSError:
        return None
    for names in _LASTING:
        if names <= said.keys():
            lasting = (line for name, line in said.items() if name in names)
            return "".join([platform.machine(), *lasting])
    return None
