"""The innermost loop of a matrix product in the processor's own assembly language (AVX-512).

A tile of ``rows`` times ``vectors`` results stays in registers while a sum runs over all ``k``: each
step loads the vectors of a packed row of the right matrix and multiplies them with one number from
each row of the left one. LLVM, given the same loop, moves the left numbers ahead of their use and
then has to keep results in memory; written out, all 32 registers can be used.
"""

from __future__ import annotations

#: Numbers (float32) in a vector, and its bytes.
LANES, VECTOR_BYTES = 16, 64
#: Rows of the largest tile, by its vectors: 24 results leave registers for the factors.
MOST_ROWS = {1: 12, 2: 12, 3: 8}
_REGISTERS = 32
#: Each addresses three rows of the left matrix: itself, one and two row strides on.
_ROW_POINTERS = ("rax", "rcx", "rdx", "r14")
_ROWS_A_POINTER = 3
#: So many registers take turns with the left numbers.
_MOST_SPREAD = 4


def tile_name(rows: int, vectors: int) -> str:
    """The name of a tile's function in LLVM's assembly language."""
    return f"@tile{rows}x{vectors}"


def tile_function(rows: int, vectors: int) -> str:
    """The function in LLVM's assembly language.

    Its arguments: addresses of the left rows, the packed right rows and the output; the length of
    the sum (at least 1); the left strides from row to row and from step to step, and the output's
    from row to row, in bytes; a bit for each column of the last vector that is stored; 1 where the
    sums are added to what the output holds, else 0.
    """
    results = ", ".join(["i64"] * (len(_ROW_POINTERS) + 3))
    changed = [*_ROW_POINTERS, "rsi", "rdi", "r10"]
    constraints = [f"={{{name}}}" for name in changed]
    constraints += [str(i) for i in range(len(changed))]  # the same registers come in
    constraints += ["{r8}", "{r9}", "{r11}", "{r12}", "{r13}", "{rbx}"]
    constraints += [f"~{{zmm{i}}}" for i in range(_REGISTERS)]
    constraints += ["~{k1}", "~{memory}", "~{dirflag}", "~{fpsr}", "~{flags}"]
    code = "\\0A".join(_instructions(rows, vectors))
    arguments = ["%left", "%left1", "%left2", "%left3", "%right", "%count", "%out"]
    arguments += ["%row", "%step", "%out_row", "%mask", "%adds", "%out"]
    return f"""
define internal void {tile_name(rows, vectors)}(i64 %left, i64 %right, i64 %out, i64 %count, i64 %row, i64 %step, i64 %out_row, i64 %mask, i64 %adds) noinline {{
  %rows = mul i64 %row, {_ROWS_A_POINTER}
  %left1 = add i64 %left, %rows
  %left2 = add i64 %left1, %rows
  %left3 = add i64 %left2, %rows
  %all = call {{{results}}} asm sideeffect "{code}", "{",".join(constraints)}"({", ".join(f"i64 {x}" for x in arguments)})
  ret void
}}
"""


def _instructions(rows: int, vectors: int) -> list[str]:
    """In AT&T's notation. rsi: packed rows; rdi: steps left; r8, r9: the left strides; r10: output
    (rbx: its start), r11: its row stride; r12: the mask; r13: whether to add."""
    results = [
        [f"%zmm{_REGISTERS - 1 - i * vectors - v}" for v in range(vectors)] for i in range(rows)
    ]
    spread = min(_REGISTERS - rows * vectors - vectors, _MOST_SPREAD)
    text = ["kmovw %r12d, %k1"]
    for i in range(rows):
        text += [f"vpxord {x}, {x}, {x}" for x in results[i]]
        text += ["prefetcht0 (%r10)", "addq %r11, %r10"]
    text += ["movq %rbx, %r10", "1:"]
    text += [f"vmovups {VECTOR_BYTES * v}(%rsi), %zmm{v}" for v in range(vectors)]
    for i in range(rows):
        pointer, place = _ROW_POINTERS[i // _ROWS_A_POINTER], i % _ROWS_A_POINTER
        at = (f"(%{pointer})", f"(%{pointer},%r8)", f"(%{pointer},%r8,2)")[place]
        number = f"%zmm{vectors + i % spread}"
        text.append(f"vbroadcastss {at}, {number}")
        text += [f"vfmadd231ps %zmm{v}, {number}, {results[i][v]}" for v in range(vectors)]
    text += [f"addq %r9, %{pointer}" for pointer in _ROW_POINTERS[: -(-rows // _ROWS_A_POINTER)]]
    text += [f"addq $${VECTOR_BYTES * vectors}, %rsi", "decq %rdi", "jne 1b"]
    text += ["testq %r13, %r13", "je 2f"]

    def masked(v: int) -> str:
        return " {%k1}" if v == vectors - 1 else ""

    for row in results:
        text += [f"vaddps {VECTOR_BYTES * v}(%r10), {x}, {x}{masked(v)}" for v, x in enumerate(row)]
        text.append("addq %r11, %r10")
    text += ["movq %rbx, %r10", "2:"]
    for row in results:
        text += [f"vmovups {x}, {VECTOR_BYTES * v}(%r10){masked(v)}" for v, x in enumerate(row)]
        text.append("addq %r11, %r10")
    return text
