"""Checks of lesson 6: datasets and iterators."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn


def _is_dataset(name: str, value: Any) -> None:
    expect_type(
        isinstance(value, tf.data.Dataset),
        f"{name} returned {type(value).__name__}, needed a dataset",
    )


def _elements(dataset: Any, most: int) -> list[Any]:
    """The elements of a dataset, at most ``most`` and one more."""
    item = dataset.take(most + 1).make_one_shot_iterator().get_next()
    taken = []
    with tf.Session() as session:
        try:
            while True:
                taken.append(session.run(item))
        except tf.errors.OutOfRangeError:
            return taken


@exercise(
    "Range, map, batch: which numbers must the range give so that only even ones are squared?",
    "Even numbers are those that are counted in twos. Square each of them, and put the "
    "batches together last.",
    lambda v: f"tf.data.Dataset.range(0, limit, 2) counts in twos; batch({v.size}) comes last.",
)
def ex1(even_squares: Callable[[int], Any]) -> str:
    """Squares of even numbers in batches."""
    size = drawn("lesson06.ex1").size
    for limit in (20, 9, 2):
        with tf.Graph().as_default():
            made = even_squares(limit)
            _is_dataset("even_squares", made)
            batches = _elements(made, 50)
        needed = [n * n for n in range(0, limit, 2)]
        expect(
            batches,
            f"even_squares({limit}) gives nothing at all. If it filters: == between a tensor and a number asks "
            "Python whether they are the same object; tf.equal asks about the numbers",
        )
        expect(
            all(np.ndim(batch) == 1 for batch in batches),
            f"even_squares({limit}) gives elements of the shape {np.shape(batches[0])}, "
            "needed batches",
        )
        got = [int(value) for batch in batches for value in batch]
        told = f"even_squares({limit}) gives the numbers {got[:12]}"
        expect(got == needed, f"{told}, needed {needed[:12]}")
        lengths = [len(batch) for batch in batches]
        packed = [min(size, len(needed) - i) for i in range(0, len(needed), size)]
        expect(lengths == packed, f"{told} in batches of {lengths}, needed {packed}")
    return "Right, for limits of 20, 9 and 2."


@exercise(
    "How is the end of a stream told? Take elements until then.",
    "One get_next, and a loop of runs that ends by an exception. The total begins at 0, for "
    "an empty dataset.",
    "while True: total += session.run(item), inside try; return total in except tf.errors.OutOfRangeError.",
)
def ex2(add_up: Callable[[Any], Any]) -> str:
    """The sum of any dataset."""
    for length in (4, 100, 1, 0):
        with tf.Graph().as_default():
            found = add_up(tf.data.Dataset.range(length))
        needed = sum(range(length))
        expect(
            np.ndim(found) == 0 and isinstance(found, (int, float, np.number)),
            f"add_up returned {type(found).__name__}, needed a number",
        )
        words = "an empty dataset" if length == 0 else f"the numbers 0 to {length - 1}"
        expect(found == needed, f"for {words} it returned {found}, needed {needed}")
    return "Right, for 4, 100, 1 and no elements."


@exercise(
    "Three steps: shuffle, batch, repeat. Which of them must see one epoch only?",
    "Whatever stands before repeat is done anew in each epoch. So both the shuffle and the "
    "batches belong before it.",
    "dataset.shuffle(size).batch(5).repeat(num_epochs): the buffer holds everything, and repeat is last.",
)
def ex3(epochs: Callable[[Any, int, int], Any]) -> str:
    """Shuffled epochs that do not mix."""
    size, num_epochs = 33, 4  # large enough that a whole shuffle never looks like a small buffer
    with tf.Graph().as_default():
        made = epochs(tf.data.Dataset.range(size), size, num_epochs)
        _is_dataset("epochs", made)
        batches = _elements(made, 10 * size)
    expect(
        all(np.ndim(batch) == 1 for batch in batches),
        f"its elements have the shape {np.shape(batches[0]) if batches else '()'}, needed batches",
    )
    numbers = [int(value) for batch in batches for value in batch]
    expect(
        len(numbers) == size * num_epochs,
        f"{num_epochs} epochs of {size} elements gave {len(numbers)}, needed {size * num_epochs}",
    )
    expect(
        max(map(len, batches)) == 5,
        f"the largest batch has {max(map(len, batches))} elements, needed 5",
    )
    rest, orders = list(batches), []
    for number in range(num_epochs):
        epoch: list[int] = []
        while rest and len(epoch) < size:
            epoch += [int(value) for value in rest.pop(0)]
        expect(
            sorted(epoch) == list(range(size)),
            f"epoch {number + 1} is not every element once: a batch mixes two epochs, or the shuffle "
            "does",
        )
        orders.append(epoch)
    expect(orders[0] != sorted(orders[0]), "the first epoch is not shuffled")
    early = max(value - place for order in orders for place, value in enumerate(order))
    expect(
        early > 14,
        f"no element comes more than {early} places early: the buffer is smaller than the data",
    )
    expect(
        len({tuple(order) for order in orders}) == num_epochs,
        "two epochs come in the same order: repeat what is shuffled, not what was shuffled once",
    )
    return f"Right: {num_epochs} epochs, each with every element once, each in another order."


@exercise(
    "Which dataset begins one element later than this one?",
    "Walk along the dataset twice at once, with one of the two a step ahead.",
    "tf.data.Dataset.zip((dataset, dataset.skip(1))) walks along both.",
)
def ex4(with_next: Callable[[Any], Any]) -> str:
    """Each element with the one after it."""
    for values in ([3, 1, 4, 1, 5, 9], [7, 7]):
        with tf.Graph().as_default():
            made = with_next(tf.data.Dataset.from_tensor_slices(np.array(values, np.int64)))
            _is_dataset("with_next", made)
            found = _elements(made, 20)
        expect(
            all(isinstance(pair, tuple) and len(pair) == 2 for pair in found),
            f"of {values} it gives {found[:2]}, needed pairs: elements of two parts",
        )
        got = [(int(a), int(b)) for a, b in found]
        needed = list(itertools.pairwise(values))
        expect(got == needed, f"of {values} it gives {got}, needed {needed}")
    return (
        "Right: the pairs of 3, 1, 4, 1, 5, 9 are "
        + ", ".join(f"({a}, {b})" for a, b in zip([3, 1, 4, 1, 5], [1, 4, 1, 5, 9], strict=True))
        + "."
    )


@exercise(
    "Which order has no two neighbors in it: would two halves of the numbers help?",
    "Take every second one first. A dataset can be thinned out (filter, shard), and two be put in a row.",
    "dataset.shard(2, 1).concatenate(dataset.shard(2, 0)): the odd numbers, then the even ones.",
)
def ex5(apart: Callable[[Any], Any]) -> str:
    """Any order without former neighbors."""
    for size in (8, 9, 20, 33):
        with tf.Graph().as_default(), tf.Session() as session:
            mixed = apart(tf.data.Dataset.range(size))
            expect_type(
                isinstance(mixed, tf.data.Dataset),
                f"it returned {type(mixed).__name__}, no dataset",
            )
            item = mixed.make_one_shot_iterator().get_next()
            got: list[int] = []
            try:
                while len(got) <= size:
                    got.append(int(session.run(item)))
            except tf.errors.OutOfRangeError:
                pass
        expect(sorted(got) == list(range(size)), f"of {size} elements it gives out {got}")
        near = [(a, b) for a, b in itertools.pairwise(got) if abs(a - b) == 1]
        expect(not near, f"of {size} elements, {near[:1]} still follow one another in {got}")
    return "Right: all elements, and no two former neighbors side by side."
