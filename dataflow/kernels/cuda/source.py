"""What generated CUDA C has in common: its types, and how many threads to launch.

In a kernel ``T`` is what arrays hold, ``A`` what sums are added up in (single precision for halves)
and ``I`` what positions are counted in.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import can_compile, compile_kernel
from dataflow.kernels.xp import address_of

THREADS = 256
#: Blocks beyond this many take turns: every kernel walks over its elements in steps of the grid.
MAX_BLOCKS = 1 << 16

C_TYPES = {
    "float16": "__half",
    "float32": "float",
    "float64": "double",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "int64": "long long",
}
FLOATS = ("float16", "float32", "float64")

_WALK = """  I step = (I)gridDim.x * blockDim.x;
  for (I i = (I)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {"""


#: Sources are looked up by what they are made of: writing one takes longer than a launch.
kept = functools.lru_cache(maxsize=1024)


def can_run(xp: Module, *arrays: Any, of: tuple[str, ...] = FLOATS) -> bool:
    """Whether our kernels can take these arrays, which have to be of one of the dtypes ``of``."""
    return xp is not np and can_compile(xp) and all(a.dtype.name in of for a in arrays)


def header(dtype: Any, index: str, constants: Mapping[str, int] | None = None) -> str:
    """The beginning of a source: the types, and constants as macros."""
    name = C_TYPES[np.dtype(dtype).name]
    include = "#include <cuda_fp16.h>\n" if name == "__half" else ""
    sums = "float" if name == "__half" else name
    defined = "".join(f"#define {key} {value}\n" for key, value in (constants or {}).items())
    return f"{include}typedef {name} T;\ntypedef {sums} A;\ntypedef {index} I;\n{defined}"


#: What a thread moves that only copies: as many bytes as alignment allows.
UNITS = {16: "int4", 8: "int2", 4: "int", 2: "short", 1: "char"}
#: Bytes that a thread moves at a time.
_VECTOR_BYTES = 16


def vector_length(dtype: Any, length: int, *arrays: Any) -> int:
    """Numbers that a thread takes at a time: a power of two that divides ``length``.

    At most 16 bytes, and as the addresses of the contiguous ``arrays`` allow.
    """
    size: int = np.dtype(dtype).itemsize
    addresses = [address_of(a) for a in arrays]
    return max(1, math.gcd(_VECTOR_BYTES, length * size, *addresses) // size)


def vector_header(dtype: Any, index: str, vector: int, constants: Mapping[str, int]) -> str:
    """As `header` with ``N`` numbers that are moved at a time, ``Row``, and their sums, ``Sums``."""
    sizes = np.dtype(dtype).itemsize * vector, sum_type(dtype).itemsize * vector
    return header(dtype, index, {**constants, "N": vector}) + (
        f"struct alignas({sizes[0]}) Row {{ T v[N]; }};\n"
        f"struct alignas({sizes[1]}) Sums {{ A v[N]; }};\n"
        '#define EACH(n) _Pragma("unroll") for (int n = 0; n < N; ++n)\n'
    )


def working_header(dtype: Any, index: str) -> str:
    """The beginning of a source that computes in ``T`` and stores as ``S``.

    They are one type, but for halves: those are computed in single precision, and ``ROUND`` gives
    what a half would hold.
    """
    stored = C_TYPES[np.dtype(dtype).name]
    if stored != "__half":
        return f"typedef {stored} S;\ntypedef S T;\ntypedef {index} I;\n#define ROUND(x) (x)\n"
    return (
        "#include <cuda_fp16.h>\ntypedef __half S;\ntypedef float T;\n"
        f"typedef {index} I;\n#define ROUND(x) ((T)(S)(x))\n"
    )


def element_kernel(name: str, parameters: str, body: str) -> str:
    """A kernel that runs ``body`` for every ``i`` below its last parameter, ``I size``."""
    return f"""extern "C" __global__ void {name}({parameters}, I size) {{
{_WALK}
{body}
  }}
}}
"""


def sum_type(dtype: Any) -> Any:
    """NumPy's type of ``A``."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float16 else dtype)


def index_type(size: int) -> str:
    """The C type of positions below ``size``; the last step of a grid may pass the end."""
    return "int" if size < 1 << 30 else "long long"


def number_type(index: str) -> Any:
    """NumPy's type of such positions, for the arguments of a launch."""
    return np.int32 if index == "int" else np.int64


def launch_elements(
    xp: Module, source: str, name: str, arguments: tuple[Any, ...], size: int, index: str
) -> None:
    """Launches an `element_kernel`: one thread for each of ``size`` elements."""
    if size:
        number = number_type(index)
        blocks = min(MAX_BLOCKS, math.ceil(size / THREADS))
        launch = compile_kernel(xp, source, name)
        launch((blocks,), (THREADS,), (*arguments, number(size)))


def constants_of(windows: Mapping[str, Any]) -> dict[str, int]:
    """The geometry of windows as macros: ``SIZE_H``, ``TAPS_H``, ... for the key ``H``."""
    return {
        f"{field.upper()}_{axis}": getattr(w, field)
        for axis, w in windows.items()
        for field in ("size", "taps", "stride", "dilation", "before", "count")
    }


def strides_of(x: Array) -> list[int]:
    """Strides in elements."""
    return [s // x.itemsize for s in x.strides]
