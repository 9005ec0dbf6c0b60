"""The machine code of `window_kernels`: one function for each kind of work, in LLVM's assembly language."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dataflow.kernels.jit.avx512_microkernel import LANES, NUMBER_BYTES
from dataflow.kernels.jit.llvm_builder import ALL_LANES, DECLARED, VECTOR, Writer

#: What a function looks up in its table, all of 64 bits.
FIELDS = (
    *("x", "y", "grad", "out", "images", "image_bytes", "line_bytes", "place_bytes"),
    *("tap_line", "tap_place", "lines", "high", "places", "wide", "weights", "weights_line"),
    *("small_place", "several", "weights_one", "spread", "taps_high", "taps_wide"),
    *("inside", "outside", "place_stride"),
)
#: Places side by side that are made together, where no tap lies outside.
_TOGETHER = 8
#: Sums of a line of taps that are kept in registers.
MOST_TAPS_WIDE = 7
_WEIGHTED = ("weighted", "weighted_gradient", "weights_gradient")
IN_REGISTERS = tuple(f"weights_gradient_{taps}" for taps in range(1, MOST_TAPS_WIDE + 1))
KINDS = (
    *("max", "average", "max_gradient", "average_gradient"),
    *(kind + many for kind in (*_WEIGHTED, *IN_REGISTERS) for many in ("", "_many")),
)
_ENTRY_BYTES = 24
#: For a vector of places' channels: the image's first channel, in bytes, which lanes it has, and
#: which of them each lane takes.
SPREAD = np.dtype([("at", np.int64), ("lanes", np.int64), ("order", np.int32, LANES)])

_MASK = f"<{LANES} x i1>"


def _spread(number: str) -> str:
    return f"<{', '.join([f'float {number}'] * LANES)}>"


class _Place(NamedTuple):
    """A place: the distances of its first tap, of itself and of the first tap's weights from the
    starts of their arrays, in bytes; how many taps it has in height and in width."""

    image: str
    small: str
    weight: str
    high: str
    wide: str


#: (address, address of the weights, what was made of the taps before) -> with this one
_Tap = Callable[[str, str, str], str]


def source(kind: str) -> str:
    """A function in LLVM's assembly language; its one argument is the table of `FIELDS`."""
    declared = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    declared += f"declare {VECTOR} @llvm.fma.v{LANES}f32({VECTOR}, {VECTOR}, {VECTOR})\n"
    declared += f"declare {VECTOR} {_PERMUTE}({VECTOR}, {_INDICES})\n"
    declared += f"declare {VECTOR} {_GATHER}(<{LANES} x ptr>, i32, {_MASK}, {VECTOR})\n"
    is_sum = kind.removesuffix("_many") in IN_REGISTERS
    return (_sums_function if is_sum else _function)(kind) + DECLARED + declared


_INDICES = f"<{LANES} x i32>"
_PERMUTE = "@llvm.x86.avx512.permvar.sf.512"
_GATHER = f"@llvm.masked.gather.v{LANES}f32.v{LANES}p0"


def _fields(w: Writer) -> dict[str, str]:
    return {
        name: w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %table, i64 {i}')}")
        for i, name in enumerate(FIELDS)
    }


def _entry(w: Writer, table: str, i: str) -> list[str]:
    """The three numbers of a place on an axis."""
    start = w.pointer(w.at(table, (i, str(_ENTRY_BYTES))))
    places = [w.put(f"getelementptr i64, ptr {start}, i64 {k}") for k in range(3)]
    return [w.put(f"load i64, ptr {place}") for place in places]


def _fma(w: Writer, a: str, b: str, plus: str) -> str:
    vectors = f"{VECTOR} {a}, {VECTOR} {b}, {VECTOR} {plus}"
    return w.put(f"call {VECTOR} @llvm.fma.v{LANES}f32({vectors})")


_LOWEST = f"<{', '.join(['float 0xFFF0000000000000'] * LANES)}>"


def _larger(w: Writer, v: str, value: str) -> str:
    """The larger one; a NaN stays."""
    more = w.put(f"fcmp ogt {VECTOR} {v}, {value}")
    most = w.put(f"select {_MASK} {more}, {VECTOR} {v}, {VECTOR} {value}")
    nan = w.put(f"fcmp uno {VECTOR} {v}, {v}")
    return w.put(f"select {_MASK} {nan}, {VECTOR} {v}, {VECTOR} {most}")


class _ImageVector(NamedTuple):
    """How a vector of the image's channels is read: from where in a place, which lanes, and in
    what order (``""``: as they are)."""

    at: str
    mask: str
    order: str

    def load(self, w: Writer, address: str, mask: str = "") -> str:
        """For an address of the place; ``mask`` in place of its own."""
        vector = w.load(address, mask or self.mask)
        if not self.order:
            return vector
        return w.put(f"call {VECTOR} {_PERMUTE}({VECTOR} {vector}, {_INDICES} {self.order})")


def _image_vector(w: Writer, field: dict[str, str], c: str, mask: str, many: bool) -> _ImageVector:
    """That for the vector of places' channels at ``c`` bytes."""
    if not many:
        return _ImageVector(c, mask, "")
    number = w.op("udiv", c, LANES * NUMBER_BYTES)
    entry = w.at(field["spread"], (number, str(SPREAD.itemsize)))
    at = w.put(f"load i64, ptr {w.pointer(entry)}")
    lanes = w.put(f"load i64, ptr {w.pointer(w.op('add', entry, 8))}")
    order = w.pointer(w.op("add", entry, 16))
    return _ImageVector(at, w.mask(lanes), w.put(f"load {_INDICES}, ptr {order}, align 4"))


def _lanes_left(w: Writer, whole: str, c: str) -> str:
    """The lanes of a place of ``whole`` bytes from byte ``c`` on."""
    lanes = w.op("lshr", w.least(w.op("sub", whole, c), LANES * NUMBER_BYTES), 2)
    return w.mask(w.op("lshr", str(ALL_LANES), w.op("sub", str(LANES), lanes)))


def _sums_function(kind: str) -> str:
    """The weights' gradient with the sums of a line of taps in registers.

    Places whose taps all lie on the image's line come without a look at each tap.
    """
    many = kind.endswith("_many")
    taps = int(kind.removesuffix("_many").rpartition("_")[2])
    w = Writer(f"void @{kind}(ptr %table)")
    field = _fields(w)
    small_row = w.op("mul", field["wide"], field["small_place"])
    small_bytes = w.op("mul", field["high"], small_row)
    several = f"[{taps} x {VECTOR}]"
    zeros = f"[{', '.join([f'{VECTOR} zeroinitializer'] * taps)}]"
    after = w.op("sub", field["wide"], field["outside"])

    def one_image(number: str) -> int:
        x = w.at(field["x"], (number, field["image_bytes"]))
        grad = w.at(field["grad"], (number, small_bytes))

        def channels(c: str) -> str:
            mask = _lanes_left(w, field["small_place"], c)
            image = _image_vector(w, field, c, mask, many)

            def tap_line(y: str) -> int:
                def line(i: str, sums: str) -> str:
                    start, count, first = _entry(w, field["lines"], i)
                    # (A tap that lies outside meets nothing: no place is looked at.)
                    distance = w.op("sub", y, first)
                    meets = w.put(f"icmp ult i64 {distance}, {count}")
                    here = w.at(w.op("add", x, start), (distance, field["tap_line"]))
                    here = w.op("add", here, image.at)
                    row = w.op("add", w.at(grad, (i, small_row)), c)

                    def place(j: str, sums: str, is_inside: bool) -> str:
                        shift, wide, tap = _entry(w, field["places"], j)
                        slope = w.load(w.at(row, (j, field["small_place"])), mask)
                        at = w.op("add", here, shift)
                        if not is_inside:
                            at = w.op("sub", at, w.op("mul", tap, field["tap_place"]))
                        for t in range(taps):
                            total = w.put(f"extractvalue {several} {sums}, {t}")
                            own, factor = w.at(at, (str(t), field["tap_place"])), slope
                            lanes = ""
                            if not is_inside:
                                met = w.op("sub", str(t), tap)
                                valid = w.put(f"icmp ult i64 {met}, {wide}")
                                none = "zeroinitializer"
                                lanes = w.put(
                                    f"select i1 {valid}, {_MASK} {image.mask}, {_MASK} {none}"
                                )
                                factor = w.put(
                                    f"select i1 {valid}, {VECTOR} {slope}, {VECTOR} {none}"
                                )
                            total = _fma(w, image.load(w, own, lanes), factor, total)
                            sums = w.put(f"insertvalue {several} {sums}, {VECTOR} {total}, {t}")
                        return sums

                    def limit(number: str) -> str:
                        return w.put(f"select i1 {meets}, i64 {number}, i64 0")

                    def shifted(j: str, by: str) -> str:
                        return w.op("add", j, by)

                    inside = w.op("sub", field["outside"], field["inside"])
                    sums = w.fold(
                        limit(field["inside"]), several, sums, lambda j, s: place(j, s, False)
                    )
                    sums = w.fold(
                        limit(inside),
                        several,
                        sums,
                        lambda j, s: place(shifted(j, field["inside"]), s, True),
                    )
                    return w.fold(
                        limit(after),
                        several,
                        sums,
                        lambda j, s: place(shifted(j, field["outside"]), s, False),
                    )

                sums = w.fold(field["high"], several, zeros, line)
                to = w.op("add", w.at(field["weights"], (y, field["weights_line"])), c)
                for t in range(taps):
                    own = w.at(to, (str(t), field["small_place"]))
                    total = w.put(f"extractvalue {several} {sums}, {t}")
                    total = w.put(f"fadd {VECTOR} {w.load(own, mask)}, {total}")
                    w.store_masked(total, own, mask)
                return 1

            w.loop(field["taps_high"], tap_line)
            return str(LANES * NUMBER_BYTES)

        w.loop(field["small_place"], channels)
        return 1

    w.loop(field["images"], one_image)
    return w.text()


def _function(kind: str) -> str:
    w = Writer(f"void @{kind}(ptr %table)")
    many, kind = kind.endswith("_many"), kind.removesuffix("_many")
    field = _fields(w)
    makes_image = kind.endswith("gradient") and kind != "weights_gradient"
    #: Bytes of a place that are gone through, and from one tap's weights to the next's.
    own_bytes = field["place_bytes" if makes_image or not many else "small_place"]
    row_bytes = w.op("mul", field["wide"], field["small_place"])
    small_bytes = w.op("mul", field["high"], row_bytes)
    apart = ""
    if many and makes_image:
        every = w.put(f"trunc i64 {field['several']} to i32")
        one = w.put(f"insertelement {_INDICES} poison, i32 {every}, i64 0")
        spread = f"{_INDICES} {one}, {_INDICES} poison, {_INDICES} zeroinitializer"
        numbers = ", ".join(f"i32 {lane}" for lane in range(LANES))
        apart = w.put(f"mul {_INDICES} {w.put(f'shufflevector {spread}')}, <{numbers}>")

    def over_taps(at: _Place, name: str, type_: str, start: str, tap: _Tap) -> str:
        """``tap(address, address of the weights, value)`` for all taps of a place."""
        first = w.op("add", field[name], at.image)
        weight = w.op("add", field["weights"], at.weight)

        def line(i: str, value: str) -> str:
            here = w.at(first, (i, field["tap_line"]))
            weights = w.at(weight, (i, field["weights_line"]))

            def one(j: str, value: str) -> str:
                own = w.at(weights, (j, own_bytes))
                return tap(w.at(here, (j, field["tap_place"])), own, value)

            return w.fold(at.wide, type_, value, one)

        return w.fold(at.high, type_, start, line)

    def count(high: str, wide: str) -> str:
        """The number of taps, in all lanes."""
        number = w.put(f"uitofp i64 {w.op('mul', high, wide)} to float")
        first = w.put(f"insertelement {VECTOR} poison, float {number}, i64 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return w.put(f"shufflevector {VECTOR} {first}, {VECTOR} poison, {zeros}")

    def vector(at: _Place, mask: str, image: _ImageVector) -> None:
        """One place's vector of channels."""

        def small(name: str) -> str:
            return w.op("add", field[name], at.small)

        def slope() -> str:
            if not apart:
                return w.load(small("grad"), mask)
            start = w.pointer(small("grad"))
            where = w.put(f"getelementptr float, ptr {start}, {_INDICES} {apart}")
            return w.put(
                f"call {VECTOR} {_GATHER}(<{LANES} x ptr> {where}, i32 {NUMBER_BYTES}, "
                f"{_MASK} {mask}, {VECTOR} zeroinitializer)"
            )

        def add_to(address: str, number: str) -> None:
            total = w.put(f"fadd {VECTOR} {w.load(address, mask)}, {number}")
            w.store_masked(total, address, mask)

        zero = "zeroinitializer"
        if kind == "max":

            def larger(address: str, _: str, value: str) -> str:
                return _larger(w, w.load(address, mask), value)

            w.store_masked(over_taps(at, "x", VECTOR, _LOWEST, larger), small("out"), mask)
        elif kind == "average":

            def plus(address: str, _: str, value: str) -> str:
                return w.put(f"fadd {VECTOR} {value}, {w.load(address, mask)}")

            total = over_taps(at, "x", VECTOR, zero, plus)
            mean = w.put(f"fdiv {VECTOR} {total}, {count(at.high, at.wide)}")
            w.store_masked(mean, small("out"), mask)
        elif kind == "average_gradient":
            grad = w.load(small("grad"), mask)
            share = w.put(f"fdiv {VECTOR} {grad}, {count(at.high, at.wide)}")

            def give_share(address: str, _: str, value: str) -> str:
                add_to(address, share)
                return value

            over_taps(at, "out", VECTOR, zero, give_share)
        elif kind == "max_gradient":
            highest, grad = w.load(small("y"), mask), w.load(small("grad"), mask)
            distance = w.op("sub", field["x"], field["out"])

            def give_first(address: str, _: str, found: str) -> str:
                v = w.load(w.op("add", address, distance), mask)
                equal = w.put(f"fcmp oeq {VECTOR} {v}, {highest}")
                both = w.put(f"or {_MASK} {found}, {equal}")
                first = w.put(f"xor {_MASK} {both}, {found}")
                # A factor, not a choice: an infinite gradient times zero is NaN, as by slices.
                one = _spread("1.0")
                factor = w.put(f"select {_MASK} {first}, {VECTOR} {one}, {VECTOR} {zero}")
                add_to(address, w.put(f"fmul {VECTOR} {grad}, {factor}"))
                return both

            over_taps(at, "out", _MASK, zero, give_first)
        elif kind == "weighted":

            def times(address: str, weight: str, value: str) -> str:
                return _fma(w, image.load(w, address), w.load(weight, mask), value)

            w.store_masked(over_taps(at, "x", VECTOR, zero, times), small("out"), mask)
        else:
            grad = slope()

            def give(address: str, weight: str, value: str) -> str:
                to = address if makes_image else weight
                other = w.load(weight, mask) if makes_image else image.load(w, address)
                w.store_masked(_fma(w, grad, other, w.load(to, mask)), to, mask)
                return value

            over_taps(at, "out" if makes_image else "x", VECTOR, zero, give)

    def several_places(
        kind: str, image: _ImageVector, first: str, weight: str, high: str, mask: str
    ) -> list[str]:
        """What neighbouring places make of their taps."""
        start = _LOWEST if kind == "max" else "zeroinitializer"
        kinds = f"[{_TOGETHER} x {VECTOR}]"
        starts = f"[{', '.join([f'{VECTOR} {start}'] * _TOGETHER)}]"

        def line(i: str, values: str) -> str:
            here = w.at(first, (i, field["tap_line"]))
            weights = w.at(weight, (i, field["weights_line"]))

            def tap(j: str, values: str) -> str:
                at = w.at(here, (j, field["tap_place"]))
                factor = w.load(w.at(weights, (j, own_bytes)), mask) if kind == "weighted" else ""
                for n in range(_TOGETHER):
                    value = w.put(f"extractvalue {kinds} {values}, {n}")
                    v = image.load(w, w.at(at, (str(n), field["place_stride"])))
                    if kind == "max":
                        value = _larger(w, v, value)
                    elif kind == "average":
                        value = w.put(f"fadd {VECTOR} {value}, {v}")
                    else:
                        value = _fma(w, v, factor, value)
                    values = w.put(f"insertvalue {kinds} {values}, {VECTOR} {value}, {n}")
                return values

            return w.fold(field["taps_wide"], kinds, values, tap)

        found = w.fold(high, kinds, starts, line)
        return [w.put(f"extractvalue {kinds} {found}, {n}") for n in range(_TOGETHER)]

    def one_image(number: str) -> int:
        image = w.op("mul", number, field["image_bytes"])
        small = w.op("mul", number, small_bytes)
        if makes_image:
            begin, size = w.pointer(w.op("add", field["out"], image)), field["image_bytes"]
            w.lines.append(
                f"  call void @llvm.memset.p0.i64(ptr {begin}, i8 0, i64 {size}, i1 false)"
            )

        def line(i: str) -> int:
            start, high, tap = _entry(w, field["lines"], i)
            row = w.at(small, (i, row_bytes))
            line_at = w.op("add", image, start)
            line_weight = w.op("mul", tap, field["weights_line"])

            def place(j: str) -> int:
                shift, wide, tap = _entry(w, field["places"], j)
                first = w.op("add", line_at, shift)
                here = w.at(row, (j, field["small_place"]))
                weight = w.at(line_weight, (tap, own_bytes))

                def channels(c: str) -> str:
                    mask = _lanes_left(w, own_bytes, c)
                    image = _image_vector(w, field, c, mask, many and not makes_image)
                    at, own = w.op("add", first, image.at), w.op("add", weight, c)
                    if not apart:
                        vector(_Place(at, w.op("add", here, c), own, high, wide), mask, image)
                        return str(LANES * NUMBER_BYTES)
                    several = w.at(here, (c, field["several"]))

                    def one(n: str) -> int:
                        small = w.at(several, (n, str(NUMBER_BYTES)))
                        weights = w.at(own, (n, field["weights_one"]))
                        vector(_Place(at, small, weights, high, wide), mask, image)
                        return 1

                    w.loop(field["several"], one)
                    return str(LANES * NUMBER_BYTES)

                w.loop(own_bytes, channels)
                return 1

            def together(block: str) -> int:
                """Places all of whose taps in width lie on the image."""
                j = w.op("add", field["inside"], w.op("mul", block, _TOGETHER))
                shift, _, _ = _entry(w, field["places"], j)
                first = w.op("add", w.op("add", field["x"], line_at), shift)
                here = w.op("add", field["out"], w.at(row, (j, field["small_place"])))
                weight = w.op("add", field["weights"], line_weight)

                def channels(c: str) -> str:
                    mask = _lanes_left(w, own_bytes, c)
                    image = _image_vector(w, field, c, mask, many)
                    at, own = w.op("add", first, image.at), w.op("add", weight, c)
                    totals = several_places(kind, image, at, own, high, mask)
                    for n, total in enumerate(totals):
                        if kind == "average":
                            number = count(high, field["taps_wide"])
                            total = w.put(f"fdiv {VECTOR} {total}, {number}")
                        to = w.at(w.op("add", here, c), (str(n), field["small_place"]))
                        w.store_masked(total, to, mask)
                    return str(LANES * NUMBER_BYTES)

                w.loop(own_bytes, channels)
                return 1

            if makes_image or kind == "weights_gradient":
                w.loop(field["wide"], place)
                return 1
            w.loop(field["inside"], place)
            blocks = w.op("udiv", w.op("sub", field["outside"], field["inside"]), _TOGETHER)
            w.loop(blocks, together)
            done = w.op("add", field["inside"], w.op("mul", blocks, _TOGETHER))
            w.loop(w.op("sub", field["wide"], done), lambda j: place(w.op("add", j, done)))
            return 1

        w.loop(field["high"], line)
        return 1

    w.loop(field["images"], one_image)
    return w.text()
