"""The tile of `microkernel` for x86-64, in AT&T's notation: AVX-512 and AVX2.

The last vector may be partly used. AVX-512 loads and stores it under a mask. AVX2's masks take a
register and its masked stores are slow, so there is a second loop, for whole vectors.

``rsi``: right rows, ``r15``: their stride; ``rdi``: steps left; ``r8``, ``r9``: the left strides;
``r10``: output, ``r11``: its row stride; ``r12``: the distances after this segment, ``r13``: segments
left; ``rbx``: the table.
"""

from __future__ import annotations

import itertools

from dataflow.kernels.jit.isa import AVX512, PLAIN, RELU, TILE_FIELDS, Isa

#: Arguments come as on Linux and macOS: in rdi, rsi, rdx and rcx; also on Windows, where C has another order.
CONVENTION = "x86_64_sysvcc"
#: The registers that this convention has a function keep.
_KEPT = ("rbx", "r12", "r13", "r14", "r15")
#: Each addresses three rows of the left matrix, at offsets of 0, 1 and 2 row strides.
_ROW_POINTERS = ("rax", "rcx", "rdx", "r14")
_ROWS_A_POINTER = 3
#: The number of registers that hold left numbers in rotation.
_MOST_SPREAD = 4
_LINE_BYTES = 64
#: Bytes 1, 2, 4, ... 128: the bit of each lane in a mask of eight.
_BIT_OF_LANE = sum(1 << i << 8 * i for i in range(8))


def tile(isa: Isa, rows: int, vectors: int) -> list[str]:
    """A tile's function: its instructions, which follow `CONVENTION`."""
    text = [f"pushq %{x}" for x in _KEPT]
    # The first, the third and the fourth argument.
    text += ["movq %rdi, %rax", "movq %rdx, %r10", "movq %rcx, %rbx"]
    text += _instructions(isa, rows, vectors)
    return [*text, *(f"popq %{x}" for x in reversed(_KEPT)), "vzeroupper", "retq"]


def _instructions(isa: Isa, rows: int, vectors: int) -> list[str]:
    text = [f"movq {_field('row')}, %r8", f"movq {_field('out_row')}, %r11", "movq %r10, %r13"]
    # All lines of a row of results, which need not begin with one.
    row_bytes = vectors * isa.vector_bytes
    lines = [*range(0, row_bytes, _LINE_BYTES), row_bytes - 1]
    for _ in range(rows):
        text += [*(f"prefetcht0 {at}(%r13)" for at in lines), "addq %r11, %r13"]
    text += [f"movq {_field('step')}, %r9", f"movq {_field('right_step')}, %r15"]
    text += [f"movq {_field('segments')}, %r12", f"movq {_field('num_segments')}, %r13"]
    pointers = _ROW_POINTERS[: -(-rows // _ROWS_A_POINTER)]
    for before, pointer in itertools.pairwise(pointers):
        text += [f"leaq (%{before},%r8,2), %{pointer}", f"addq %r8, %{pointer}"]
    if isa is AVX512:
        text.append(f"kmovw {_field('mask')}, %k1")
        return text + _body(isa, rows, vectors, masked=True)
    text += [f"cmpq ${isa.all_lanes}, {_field('mask')}", "jne 8f"]
    text += _body(isa, rows, vectors, masked=False)
    text += ["jmp 9f", "8:", f"movabsq ${_BIT_OF_LANE}, %rdi"]
    text += ["vmovq %rdi, %xmm15", "vpmovzxbd %xmm15, %ymm15"]
    text += [f"vpbroadcastd {_field('mask')}, %ymm0", "vpand %ymm15, %ymm0, %ymm0"]
    text += ["vpcmpeqd %ymm15, %ymm0, %ymm15"]
    return [*text, *_body(isa, rows, vectors, masked=True), "9:"]


def _letter(isa: Isa) -> str:
    return "z" if isa is AVX512 else "y"


def _field(name: str) -> str:
    return f"{8 * TILE_FIELDS.index(name)}(%rbx)"


def _body(isa: Isa, rows: int, vectors: int, masked: bool) -> list[str]:
    """From the zeros to the stores; ``masked``: only part of the last vector may be in use."""
    wide = isa is AVX512
    register = f"%{_letter(isa)}mm".__add__
    # AVX2 keeps the mask in the last register.
    num_registers = isa.registers - (masked and not wide)
    results = [
        [register(str(num_registers - 1 - i * vectors - v)) for v in range(vectors)]
        for i in range(rows)
    ]
    spread = min(num_registers - rows * vectors - vectors, _MOST_SPREAD)
    pointers = _ROW_POINTERS[: -(-rows // _ROWS_A_POINTER)]

    def place(v: int, base: str) -> str:
        return f"{isa.vector_bytes * v}(%{base})"

    def last(v: int) -> bool:
        return masked and v == vectors - 1

    def load(v: int, base: str, to: str) -> str:
        if not last(v):
            return f"vmovups {place(v, base)}, {to}"
        if wide:
            return f"vmovups {place(v, base)}, {to} {{%k1}} {{z}}"
        return f"vmaskmovps {place(v, base)}, %ymm15, {to}"

    def store(v: int, number: str) -> str:
        if last(v) and not wide:
            return f"vmaskmovps {number}, %ymm15, {place(v, 'r10')}"
        return f"vmovups {number}, {place(v, 'r10')}" + (" {%k1}" if last(v) else "")

    zero = "vpxord" if wide else "vxorps"
    text = [f"{zero} {x}, {x}, {x}" for row in results for x in row]
    text += ["1:", f"movq {_field('count')}, %rdi", "2:"]
    text += [load(v, "rsi", register(str(v))) for v in range(vectors)]
    for i in range(rows):
        pointer, offset = _ROW_POINTERS[i // _ROWS_A_POINTER], i % _ROWS_A_POINTER
        at = (f"(%{pointer})", f"(%{pointer},%r8)", f"(%{pointer},%r8,2)")[offset]
        if wide and vectors == 1:
            # A broadcast into 512 bits takes two cycles of Zen 4, as long as a product; within one it costs nothing.
            text.append(f"vfmadd231ps {at}{{1to16}}, {register('0')}, {results[i][0]}")
            continue
        number = register(str(vectors + i % spread))
        text.append(f"vbroadcastss {at}, {number}")
        text += [
            f"vfmadd231ps {register(str(v))}, {number}, {results[i][v]}" for v in range(vectors)
        ]
    text += [f"addq %r9, %{pointer}" for pointer in pointers]
    text += ["addq %r15, %rsi", "decq %rdi", "jne 2b"]
    text += ["movq (%r12), %rdi", "addq 8(%r12), %rsi", "addq $16, %r12"]
    text += [f"addq %rdi, %{pointer}" for pointer in pointers]
    text += ["decq %r13", "jne 1b", f"cmpq $0, {_field('adds')}", "je 4f", "movq %r10, %r13"]
    for row in results:
        for v, x in enumerate(row):
            text += [load(v, "r13", register("0")), f"vaddps {register('0')}, {x}, {x}"]
        text.append("addq %r11, %r13")
    # The biases come after the last right row, and the sums leave two registers.
    text += ["4:", f"cmpq ${PLAIN}, {_field('ends')}", "je 5f"]
    text += [f"movq {_field('bias_at')}, %r13", "addq %rsi, %r13"]
    for v in range(vectors):
        text.append(load(v, "r13", register("0")))
        text += [f"vaddps {register('0')}, {row[v]}, {row[v]}" for row in results]
    text += [f"cmpq ${RELU}, {_field('ends')}", "jne 5f"]
    text.append(f"{zero} {register('0')}, {register('0')}, {register('0')}")
    # Of a NaN and a number the one that is read last remains: the sum, as in NumPy.
    text += [f"vmaxps {x}, {register('0')}, {x}" for row in results for x in row]
    text.append("5:")
    for row in results:
        text += [store(v, x) for v, x in enumerate(row)]
        text.append("addq %r11, %r10")
    return text
