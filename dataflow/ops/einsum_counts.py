"""How many nodes TensorFlow 1.15 makes for `tf.einsum`: transpositions, reshapes and products of two at a time.

What is made afterwards takes its seed from that number, in programs that run as TensorFlow's (`seeds.counted_as`).
"""

from __future__ import annotations

from dataflow.shapes import Dims

#: Sizes by label, in the order of the axes; ``None`` where the run tells it.
_Sizes = dict[str, "int | None"]


class _Counter:
    """Counts the nodes of one call."""

    def __init__(self) -> None:
        self.num_nodes = 0

    def ordered(self, labels: str, wanted: list[str]) -> None:
        if list(labels) != wanted:
            self.num_nodes += 2

    def read(self, sizes: list[int | None]) -> None:
        """Sizes that the run tells are read one by one."""
        unknown = sizes.count(None)
        self.num_nodes += 4 * unknown + (unknown > 0)

    def total(self, sizes: list[int | None]) -> int | None:
        """The product of sizes, each factor multiplied to those before."""
        result: int | None = 1
        for size in sizes:
            if result is None or size is None:
                self.num_nodes += 1 if result is None and size is None else 2
                result = None
            else:
                result *= size
        return result

    def reshaped(self, sizes: list[int | None], wanted: list[int | None]) -> None:
        if None in wanted:
            self.num_nodes += len(wanted) - wanted.count(None) + 2
        elif sizes != wanted:
            self.num_nodes += 2

    def product(self, x: _Sizes, y: _Sizes, summed: set[str]) -> _Sizes:
        """Counts the product of two, and returns the sizes of its axes."""
        first, second = "".join(x), "".join(y)
        kept = (set(first) & set(second)) - summed
        own = [set(labels) - kept - summed for labels in (first, second)]

        def place(label: str, late: set[str]) -> tuple[int, str]:
            return (-1 if label in kept else int(label in late), label)

        a = sorted(first, key=lambda c: place(c, summed))
        b = sorted(second, key=lambda c: place(c, own[1]))
        self.ordered(first, a)
        self.ordered(second, b)
        if not summed:
            self.num_nodes += 2 * len(own[0] | own[1]) + 1
            return {c: x.get(c, y.get(c)) for c in a + b[len(kept) :]}
        left, right = [x[c] for c in a], [y[c] for c in b]
        self.read(left)
        rows = self.total(left[len(kept) : -len(summed)])
        depth = self.total(left[-len(summed) :])
        self.reshaped(left, [*left[: len(kept)], rows, depth])
        self.read(right)
        columns = self.total(right[len(kept) + len(summed) :])
        self.reshaped(right, [*right[: len(kept)], depth, columns])
        num_left, num_right = len(kept) + len(own[0]), len(own[1])
        result = left[:num_left] + right[len(right) - num_right :]
        self.num_nodes += 1
        self.reshaped([*left[: len(kept)], rows, columns], result)
        return dict(zip(a[:num_left] + b[len(b) - num_right :], result, strict=True))


def num_einsum_nodes(labels: list[str], dims: list[Dims], result: str) -> int | None:
    """The nodes beside the inputs; ``None`` for what TensorFlow 1.15 refuses or does in another way."""
    used = "".join(labels)
    if any(len(set(names)) != len(names) for names in labels) or None in dims:
        return None
    if any(used.count(c) > 2 and c not in result for c in used):
        return None
    counter = _Counter()
    inputs = [
        dict(zip(names, own or (), strict=True)) for names, own in zip(labels, dims, strict=True)
    ]
    left = inputs[0]
    for right in inputs[1:]:
        left = counter.product(left, right, (set(left) & set(right)) - set(result))
    if set(left) - set(result):
        counter.num_nodes += 2
        left = {c: size for c, size in left.items() if c in result}
    counter.ordered("".join(left), list(result))
    return counter.num_nodes
