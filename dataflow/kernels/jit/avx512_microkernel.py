"""The innermost loop of sums of products in the processor's own assembly language (AVX-512).

A tile of ``rows`` times ``vectors`` results stays in registers while a sum runs: each step loads the
vectors of a row of the right matrix and multiplies them by one number from each row of the left
one. Given the same loop, LLVM hoists the loads of the left numbers and spills results to memory;
written by hand, the loop can use all 32 registers.

A sum consists of segments of equal length; between segments the addresses in both matrices advance
by given distances. Matrix products have one segment, convolutions one for each line of a window.
"""

from __future__ import annotations

import functools
import itertools

from dataflow.kernels.jit.llvm_builder import Writer

#: Numbers (float32) in a vector, and its bytes.
LANES, NUMBER_BYTES, VECTOR_BYTES = 16, 4, 64
#: The most rows of a tile, by its number of vectors: 24 results leave registers for the factors.
MOST_ROWS = {1: 12, 2: 12, 3: 8}
#: The table of a tile, fields of 64 bits: the strides in bytes (left from row to row and from step to
#: step, right from step to step, output from row to row); a bit for each column of the last vector
#: that is read and stored; 1 where the sums are added to the output, else 0; the steps of a segment;
#: the address of the distances, two for each segment (left, right), which are added to the addresses
#: after it; and the number of segments (at least 1).
TILE_FIELDS = (
    *("row", "step", "right_step", "out_row", "mask", "adds"),
    *("count", "segments", "num_segments"),
)
_REGISTERS = 32
#: Each addresses three rows of the left matrix, at offsets of 0, 1 and 2 row strides.
_ROW_POINTERS = ("rax", "rcx", "rdx", "r14")
_ROWS_A_POINTER = 3
#: The number of registers that hold left numbers in rotation.
_MOST_SPREAD = 4


@functools.cache
def is_available() -> bool:
    """True on a processor with AVX-512, with llvmlite installed; loads llvmlite."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return False
    return bool(llvm.get_host_cpu_features().get("avx512f"))


#: The arguments of a tile's function: addresses of the left rows, the right ones and the output, and of
#: the table of `TILE_FIELDS`.
_ARGUMENTS = "(i64 %left, i64 %right, i64 %out, ptr %table)"


def all_tiles() -> list[Writer]:
    """The functions of all sizes of tiles."""
    return [
        _tile(rows, vectors)
        for vectors, most_rows in MOST_ROWS.items()
        for rows in range(1, most_rows + 1)
    ]


def tile_name(rows: int, vectors: int) -> str:
    """The name of a tile's function in LLVM's assembly language."""
    return f"@tile{rows}x{vectors}"


def _tile(rows: int, vectors: int) -> Writer:
    changed = ("rax", "rsi", "r10")
    constraints = [f"={{{name}}}" for name in changed]
    constraints += [str(i) for i in range(len(changed))]  # the same registers come in
    constraints += ["{rbx}"]
    constraints += [f"~{{{x}}}" for x in ("rcx", "rdx", "r14", "rdi", "r8", "r9")]
    constraints += [f"~{{{x}}}" for x in ("r11", "r12", "r13", "r15")]
    constraints += [f"~{{zmm{i}}}" for i in range(_REGISTERS)]
    constraints += ["~{k1}", "~{memory}", "~{dirflag}", "~{fpsr}", "~{flags}"]
    code = "\\0A".join(_instructions(rows, vectors))
    w = Writer(f"internal void {tile_name(rows, vectors)}{_ARGUMENTS} noinline")
    result = "{i64, i64, i64}"
    w.put(f'call {result} asm sideeffect "{code}", "{",".join(constraints)}"{_ARGUMENTS}')
    w.leave()
    return w


def _instructions(rows: int, vectors: int) -> list[str]:
    """In AT&T's notation. rsi: right rows, r15: their stride; rdi: steps left; r8, r9: the left
    strides; r10: output, r11: its row stride; r12: the distances after this segment, r13: segments
    left; rbx: the table."""
    results = [
        [f"%zmm{_REGISTERS - 1 - i * vectors - v}" for v in range(vectors)] for i in range(rows)
    ]
    spread = min(_REGISTERS - rows * vectors - vectors, _MOST_SPREAD)
    pointers = _ROW_POINTERS[: -(-rows // _ROWS_A_POINTER)]

    def field(name: str) -> str:
        return f"{8 * TILE_FIELDS.index(name)}(%rbx)"

    def masked(v: int, zeros: str = "") -> str:
        return f" {{%k1}}{zeros}" if v == vectors - 1 else ""

    text = [f"movq {field('row')}, %r8", f"movq {field('out_row')}, %r11", "movq %r10, %r13"]
    for row in results:
        text += [f"vpxord {x}, {x}, {x}" for x in row]
        text += ["prefetcht0 (%r13)", "addq %r11, %r13"]
    text += [f"movq {field('step')}, %r9", f"movq {field('right_step')}, %r15"]
    text += [f"movq {field('segments')}, %r12", f"movq {field('num_segments')}, %r13"]
    text.append(f"kmovw {field('mask')}, %k1")
    for before, pointer in itertools.pairwise(pointers):
        text += [f"leaq (%{before},%r8,2), %{pointer}", f"addq %r8, %{pointer}"]
    text += ["1:", f"movq {field('count')}, %rdi", "2:"]
    text += [
        f"vmovups {VECTOR_BYTES * v}(%rsi), %zmm{v}{masked(v, ' {z}')}" for v in range(vectors)
    ]
    for i in range(rows):
        pointer, place = _ROW_POINTERS[i // _ROWS_A_POINTER], i % _ROWS_A_POINTER
        at = (f"(%{pointer})", f"(%{pointer},%r8)", f"(%{pointer},%r8,2)")[place]
        number = f"%zmm{vectors + i % spread}"
        text.append(f"vbroadcastss {at}, {number}")
        text += [f"vfmadd231ps %zmm{v}, {number}, {results[i][v]}" for v in range(vectors)]
    text += [f"addq %r9, %{pointer}" for pointer in pointers]
    text += ["addq %r15, %rsi", "decq %rdi", "jne 2b"]
    text += ["movq (%r12), %rdi", "addq 8(%r12), %rsi", "addq $$16, %r12"]
    text += [f"addq %rdi, %{pointer}" for pointer in pointers]
    text += ["decq %r13", "jne 1b", f"cmpq $$0, {field('adds')}", "je 4f", "movq %r10, %r13"]
    for row in results:
        text += [f"vaddps {VECTOR_BYTES * v}(%r13), {x}, {x}{masked(v)}" for v, x in enumerate(row)]
        text.append("addq %r11, %r13")
    text.append("4:")
    for row in results:
        text += [f"vmovups {x}, {VECTOR_BYTES * v}(%r10){masked(v)}" for v, x in enumerate(row)]
        text.append("addq %r11, %r10")
    return text
