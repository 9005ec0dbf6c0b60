"""Writes batch normalization, and its gradient, in LLVM assembly (`channel_columns` has the loops).

Statistics are those of chunks that stay in the cache, whose deviations from their own mean are squared, merged as
Chan, Golub and LeVeque do (1983): memory is read once, and a large mean takes no precision from a small variance.
"""

from __future__ import annotations

from collections.abc import Callable

from dataflow.kernels.jit.channel_columns import ChannelWriter, Sweep
from dataflow.kernels.jit.llvm_builder import Writer, module, vector_of

#: Arrays are given as the addresses of NumPy's objects; shares ``first`` to ``last`` are worked on.
_SHARED_FIELDS = (
    *("rows", "channels", "shares", "share_rows", "first", "last", "area"),
    *("epsilon", "scratch", "x", "y", "scale", "mean", "variance"),
)
FORWARD_FIELDS = (
    *_SHARED_FIELDS,
    *("offset", "old_mean", "old_variance", "new_mean", "new_variance"),
    *("correction", "average", "blends"),
)
GRADIENT_FIELDS = (*_SHARED_FIELDS, "grad", "scale_grad", "offset_grad")


def _merge(
    w: ChannelWriter, count: str, more: str, into: tuple[str, str], other: tuple[str, str]
) -> None:
    """Adds the mean and the squares of ``more`` rows to those of ``count`` rows."""
    of_all = w.real(w.op("add", count, more))
    share = w.put(f"fdiv {w.element_type} {w.real(more)}, {of_all}")
    weight = w.every(w.put(f"fmul {w.element_type} {share}, {w.real(count)}"))
    shares = w.every(share)

    def merge(load: Callable[[str], str], store: Callable[..., None]) -> None:
        mean = load(into[0])
        distance = w.math(w.vector, "fsub", load(other[0]), mean)
        moved = w.math(w.vector, "fmul", distance, shares)
        store(w.math(w.vector, "fadd", mean, moved), into[0])
        between = w.math(w.vector, "fmul", w.math(w.vector, "fmul", distance, weight), distance)
        squares = w.math(w.vector, "fadd", load(into[1]), load(other[1]))
        store(w.math(w.vector, "fadd", squares, between), into[1])

    w.each_channel(merge)


def _moments(element: str) -> Writer:
    """Of each share: the means in area 0, the sums of squared deviations in area 1."""
    w = ChannelWriter("moments", element, FORWARD_FIELDS)

    def share(number: str, begin: str, rows: str) -> None:
        mean, squares, sums, part_mean, part_squares = (w.area(number, i) for i in range(5))
        w.fill_zeros(mean, squares)

        def chunk(before: str, here: str, available: str) -> None:
            x = w.row_of("x", w.op("add", begin, before))
            Sweep(w, [x], here, available, [], lambda _k, x, _v: x).add_up([sums])
            count = w.every(w.real(here))

            def divide(load: Callable[[str], str], store: Callable[..., None]) -> None:
                store(w.math(w.vector, "fdiv", w.fold(sums, load), count), part_mean)

            w.each_channel(divide)
            w.repeat(part_mean)

            def square(kind: str, x: list[str], vectors: list[str]) -> list[str]:
                distance = w.math(kind, "fsub", x[0], vectors[0])
                return [w.math(kind, "fmul", distance, distance)]

            Sweep(w, [x], here, available, [part_mean], square).add_up([sums])
            w.each_channel(lambda load, store: store(w.fold(sums, load), part_squares))
            _merge(w, before, here, (mean, squares), (part_mean, part_squares))

        w.each_chunk(begin, rows, chunk)

    w.each_share(share)
    w.leave()
    return w


def _settle(element: str) -> Writer:
    """Merges the shares' statistics, and writes all vectors that come out."""
    w = ChannelWriter("settle", element, FORWARD_FIELDS)
    field = w.field
    found = w.area("0", 0), w.area("0", 1)

    def other(i: str) -> int:
        number = w.op("add", i, 1)
        begin = w.op("mul", number, field["share_rows"])
        rows = w.least(w.op("sub", field["rows"], begin), field["share_rows"])
        _merge(w, begin, rows, found, (w.area(number, 0), w.area(number, 1)))
        return 1

    w.loop(w.op("sub", field["shares"], 1), other)
    arrays = {x: w.array(x) for x in ("mean", "variance", "new_mean", "new_variance")}
    count, correction = w.every(w.real(field["rows"])), w.every(w.number("correction"))

    def write(load: Callable[[str], str], store: Callable[..., None]) -> None:
        mean, variance = load(found[0]), w.math(w.vector, "fdiv", load(found[1]), count)
        unbiased = w.math(w.vector, "fmul", variance, correction)
        values = {"mean": mean, "variance": variance, "new_mean": mean, "new_variance": unbiased}
        for name, value in values.items():
            store(value, arrays[name])

    w.each_channel(write)

    def blend() -> None:
        share = w.number("average")
        one = "1.0"
        kept = w.every(w.put(f"fsub {element} {one}, {share}"))
        shares = w.every(share)
        pairs = [(arrays[f"new_{x}"], w.array(f"old_{x}")) for x in ("mean", "variance")]

        def mix(load: Callable[[str], str], store: Callable[..., None]) -> None:
            for new, old in pairs:
                before = w.math(w.vector, "fmul", kept, load(old))
                added = w.math(w.vector, "fmul", shares, load(new))
                store(w.math(w.vector, "fadd", before, added), new)

        w.each_channel(mix)

    w.when(w.compare("ne", field["blends"], 0), blend)
    w.leave()
    return w


def _inverse(w: ChannelWriter, variance: str) -> str:
    """The inverse of the standard deviation."""
    moved = w.math(w.vector, "fadd", variance, w.every(w.number("epsilon")))
    one = vector_of(w.element_type, ["1.0"] * w.lanes)
    return w.math(w.vector, "fdiv", one, w.intrinsic("sqrt", w.vector, moved))


def _factors(element: str) -> Writer:
    """What deviations are multiplied by, in the area of all shares."""
    w = ChannelWriter("factors", element, FORWARD_FIELDS)
    scale, variance, factor = w.array("scale"), w.array("variance"), w.area(w.field["shares"], 0)

    def write(load: Callable[[str], str], store: Callable[..., None]) -> None:
        moved = w.math(w.vector, "fadd", load(variance), w.every(w.number("epsilon")))
        root = w.intrinsic("sqrt", w.vector, moved)
        store(w.math(w.vector, "fdiv", load(scale), root), factor)

    w.each_channel(write)
    w.leave()
    return w


def _normalize(element: str) -> Writer:
    w = ChannelWriter("normalize", element, FORWARD_FIELDS)
    vectors = [w.array("mean"), w.area(w.field["shares"], 0), w.array("offset")]

    def normalized(kind: str, x: list[str], vectors: list[str]) -> list[str]:
        mean, factor, offset = vectors
        scaled = w.math(kind, "fmul", w.math(kind, "fsub", x[0], mean), factor)
        return [w.math(kind, "fadd", scaled, offset)]

    def share(number: str, begin: str, rows: str) -> None:
        repeated = [w.copy(v, w.area(number, 2 + i)) for i, v in enumerate(vectors)]

        def chunk(before: str, here: str, _: str) -> None:
            first = w.op("add", begin, before)
            x, y, left = w.row_of("x", first), w.row_of("y", first), w.op("sub", rows, before)
            Sweep(w, [x], here, left, repeated, normalized).store(y)

        w.each_chunk(begin, rows, chunk)

    w.each_share(share)
    w.leave()
    return w


def _gradient_sums(element: str) -> Writer:
    """Of each share: the sums of the gradient in area 0, and times the deviations in area 1."""
    w = ChannelWriter("gradient_sums", element, GRADIENT_FIELDS)

    def products(kind: str, x: list[str], vectors: list[str]) -> list[str]:
        return [x[0], w.math(kind, "fmul", x[0], w.math(kind, "fsub", x[1], vectors[0]))]

    def share(number: str, begin: str, rows: str) -> None:
        totals, parts = [[w.area(number, i) for i in pair] for pair in ((0, 1), (2, 3))]
        w.fill_zeros(*totals)
        mean = w.copy(w.array("mean"), w.area(number, 4))

        def chunk(before: str, here: str, available: str) -> None:
            first = w.op("add", begin, before)
            matrices = [w.row_of("grad", first), w.row_of("x", first)]
            Sweep(w, matrices, here, available, [mean], products).add_up(parts)

            def add(load: Callable[[str], str], store: Callable[..., None]) -> None:
                for total, part in zip(totals, parts, strict=True):
                    store(w.math(w.vector, "fadd", load(total), w.fold(part, load)), total)

            w.each_channel(add)

        w.each_chunk(begin, rows, chunk)

    w.each_share(share)
    w.leave()
    return w


def _settle_gradient(element: str) -> Writer:
    """Adds up the shares' sums, and writes the gradients of scale and offset.

    What `_slopes` needs comes into the areas of all shares: what deviations are multiplied by, the mean of the
    gradient, and what all is multiplied by.
    """
    w = ChannelWriter("settle_gradient", element, GRADIENT_FIELDS)
    shares = w.field["shares"]
    arrays = {x: w.array(x) for x in ("scale", "variance", "scale_grad", "offset_grad")}
    for_all = [w.area(shares, i) for i in range(3)]
    count = w.every(w.real(w.field["rows"]))

    def total_of(number: int, load: Callable[[str], str]) -> str:
        def one(share: str, total: list[str]) -> list[str]:
            return [w.math(w.vector, "fadd", total[0], load(w.area(share, number)))]

        return w.carrying(shares, w.vector, ["zeroinitializer"], one)[0]

    def write(load: Callable[[str], str], store: Callable[..., None]) -> None:
        offset_grad, product = total_of(0, load), total_of(1, load)
        inverse = _inverse(w, load(arrays["variance"]))
        scale_grad = w.math(w.vector, "fmul", product, inverse)
        store(offset_grad, arrays["offset_grad"])
        store(scale_grad, arrays["scale_grad"])
        slope = w.math(w.vector, "fmul", inverse, scale_grad)
        values = [
            w.math(w.vector, "fdiv", slope, count),
            w.math(w.vector, "fdiv", offset_grad, count),
            w.math(w.vector, "fmul", load(arrays["scale"]), inverse),
        ]
        for value, area in zip(values, for_all, strict=True):
            store(value, area)

    w.each_channel(write)
    w.leave()
    return w


def _slopes(element: str) -> Writer:
    w = ChannelWriter("slopes", element, GRADIENT_FIELDS)
    shares = w.field["shares"]
    vectors = [w.array("mean"), *(w.area(shares, i) for i in range(3))]

    def slope(kind: str, x: list[str], vectors: list[str]) -> list[str]:
        mean, slope, grad_mean, factor = vectors
        part = w.math(kind, "fmul", w.math(kind, "fsub", x[1], mean), slope)
        value = w.math(kind, "fsub", w.math(kind, "fsub", x[0], part), grad_mean)
        return [w.math(kind, "fmul", value, factor)]

    def share(number: str, begin: str, rows: str) -> None:
        repeated = [w.copy(v, w.area(number, 2 + i)) for i, v in enumerate(vectors)]

        def chunk(before: str, here: str, _: str) -> None:
            first, left = w.op("add", begin, before), w.op("sub", rows, before)
            matrices = [w.row_of("grad", first), w.row_of("x", first)]
            Sweep(w, matrices, here, left, repeated, slope).store(w.row_of("y", first))

        w.each_chunk(begin, rows, chunk)

    w.each_share(share)
    w.leave()
    return w


def _sequence(name: str, *parts: str) -> Writer:
    w = Writer(f"void @{name}(ptr %table)")
    for part in parts:
        w.call(f"@{part}", ("ptr", "%table"))
    w.leave()
    return w


#: The functions of `source`, all of one table, of `FORWARD_FIELDS` or `GRADIENT_FIELDS`: the parts, of the shares
#: that the table names, and the whole by one thread.
FUNCTIONS = (
    *("moments", "settle", "factors", "normalize", "train", "infer"),
    *("gradient_sums", "settle_gradient", "slopes", "gradient"),
)


def source(element: str) -> str:
    """The functions in LLVM's assembly language, for ``float`` or ``double``."""
    return module(
        *(f(element) for f in (_moments, _settle, _factors, _normalize)),
        _sequence("train", "moments", "settle", "factors", "normalize"),
        _sequence("infer", "factors", "normalize"),
        *(f(element) for f in (_gradient_sums, _settle_gradient, _slopes)),
        _sequence("gradient", "gradient_sums", "settle_gradient", "slopes"),
    )
