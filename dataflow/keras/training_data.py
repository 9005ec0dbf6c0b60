"""What `fit` is given, as lists of arrays: checked against the model, cut into batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph.type_aliases import ShapeLike
from dataflow.keras import backend as K
from dataflow.keras.backend_settings import settings
from dataflow.keras.sparse_rows import sparse_rows
from dataflow.ops.sparse_tensor import is_sparse
from dataflow.tensorflow_numbers import draws_as_tensorflow

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

Array = np.ndarray[Any, Any]


def as_arrays(value: Any, names: list[str], what: str, tensors: Sequence[Any] = ()) -> list[Any]:
    """Arrays in the order of ``names`` from an array, a list or a dict; raises `ValueError`.

    For those of ``tensors`` that are sparse, `SparseRows`.
    """
    if value is None:
        return []
    if isinstance(value, dict):
        missing = [n for n in names if n not in value]
        if missing:
            raise ValueError(f"No data provided for {missing} in {what}. Given: {sorted(value)}")
        items = [value[n] for n in names]
    elif not is_sparse(value) and (
        (isinstance(value, (list, tuple)) and len(names) > 1)
        or (isinstance(value, (list, tuple)) and len(value) == 1 and _rank(value[0]) > 1)
    ):
        items = list(value)
    else:
        items = [value]
    sparse = {i for i, tensor in enumerate(tensors) if is_sparse(tensor)}
    arrays: list[Any] = [
        sparse_rows(v, names[i])
        if i in sparse
        else np.asarray(v.toarray() if hasattr(v, "toarray") else v)
        for i, v in enumerate(items)
    ]
    for array in arrays:
        if array.dtype == object and not all(isinstance(v, (bytes, str)) for v in array.flat):
            raise ValueError(
                f"{what}: the data has dtype object (rows of different lengths?). Pad sequences to "
                "one length: tf.keras.preprocessing.sequence.pad_sequences."
            )
    if len(arrays) != len(names):
        raise ValueError(
            f"Error when checking model {what}: expected {len(names)} array(s), for "
            f"{', '.join(names)}, but got {len(arrays)}."
        )
    return arrays


def _rank(value: Any) -> int:
    return int(value.ndim) if hasattr(value, "tocoo") else np.ndim(value)


def check_shapes(
    arrays: list[Array], tensors: list[Any], names: list[str], what: str
) -> list[Array]:
    """Arrays that fit the placeholders; a vector becomes a column. Raises `ValueError`."""
    checked = []
    for array, tensor, name in zip(arrays, tensors, names, strict=True):
        dims = tensor.dims
        if dims is not None:
            if array.ndim == 1 and len(dims) == 2 and isinstance(array, np.ndarray):
                array = array[:, None]
            fits = array.ndim == len(dims) and all(
                d is None or d == n for d, n in zip(dims[1:], array.shape[1:], strict=True)
            )
            if not fits:
                advice = ""
                if what == "target" and array.shape[1:] == (1,):
                    advice = (
                        "\nLabels that are class numbers need "
                        "loss='sparse_categorical_crossentropy', or tf.keras.utils.to_categorical."
                    )
                raise ValueError(
                    f"Error when checking {what}: expected {name} to have shape "
                    f"{tuple(dims[1:])} but got array with shape {array.shape[1:]}.{advice}"
                )
        checked.append(array)
    return checked


def check_lengths(arrays: list[Array]) -> int:
    """The common number of examples; raises `ValueError`."""
    lengths = {len(a) for a in arrays}
    if len(lengths) > 1:
        raise ValueError(
            "All input arrays and target arrays must have the same number of samples. Found "
            f"arrays of shapes {[a.shape for a in arrays]}."
        )
    return lengths.pop() if lengths else 0


def check_whole_batches(count: int, tensors: list[Any]) -> None:
    """Raises `ValueError` where the inputs' batch size is fixed and does not divide ``count``."""
    sizes = {t.dims[0] for t in tensors if t.dims and t.dims[0] is not None}
    for size in sizes:
        check_divisible(count, size)


def check_divisible(count: int, batch_size: int) -> None:
    """Raises `ValueError` where ``count`` examples are no whole batches."""
    if count % batch_size:
        raise ValueError(
            "In a stateful network, you should only pass inputs with a number of samples that "
            f"can be divided by the batch size {batch_size}. Found: {count} samples."
        )


def per_output(value: Any, names: list[str], what: str) -> list[Any]:
    """One for each output, from one for all, a list, or a dict by name; raises `ValueError`."""
    if isinstance(value, dict) and what == "sample_weight" and value:
        if not any(isinstance(key, str) for key in value):  # by tensor say, as Keras lets it pass
            return [None] * len(names)
    if isinstance(value, dict) and any(isinstance(key, str) for key in value):
        unknown = [key for key in value if key not in names]
        if unknown:
            raise ValueError(f"{what}: unknown outputs {unknown}. There are: {names}.")
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)) and (
        len(names) > 1 or (len(value) == 1 and np.ndim(value[0]))
    ):
        if len(value) != len(names):
            raise ValueError(
                f"{what}: got {len(value)} for {len(names)} outputs, {', '.join(names)}."
            )
        return list(value)
    return [value] * len(names)


def weights_of(targets: Array, given: Any, per_class: Any, rank: int) -> Array:
    """A weight for each example (``rank`` 1) or each step (2).

    Raises `ValueError` for an array of another rank, or a class without a weight.
    """
    weights = np.ones(targets.shape[:rank], "float32")
    if per_class is not None:
        weights *= _class_weights(per_class, targets, weights.shape)
    if given is None:
        return weights
    array = np.asarray(given, "float32")
    if array.ndim == rank + 1 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.ndim != rank:
        advice = " For a weight per step: compile(sample_weight_mode='temporal')."
        raise ValueError(
            f"sample_weight must have {rank} axes, got shape {array.shape}.{advice if rank == 1 else ''}"
        )
    return array if per_class is None else array * weights


def _class_weights(weights: dict[int, float], targets: Array, shape: ShapeLike) -> Array:
    classes = targets.argmax(-1) if targets.ndim > 1 and targets.shape[-1] > 1 else targets
    classes = classes.reshape(shape)
    missing = set(np.unique(classes).tolist()) - set(weights)
    if missing:
        raise ValueError(f"class_weight must contain all classes in the data; missing: {missing}")
    result: Array = np.vectorize(lambda c: weights[int(c)], otypes=["float32"])(classes)
    return result


def is_due(epoch: int, frequency: Any) -> bool:
    """Whether to validate after an epoch (counted from 1): every so many, or those in a list."""
    if isinstance(frequency, int):
        if frequency < 1:
            raise ValueError(f"validation_freq must be 1 or more, got {frequency}.")
        return epoch % frequency == 0
    return epoch in frequency


def split_off(arrays: list[Array], part: float) -> tuple[list[Array], list[Array]]:
    """The first and the last part of each array, before any shuffling; raises `ValueError`."""
    if not 0 < part < 1:
        raise ValueError(f"validation_split must be between 0 and 1, got {part}.")
    count = len(arrays[0])
    at = int(count * (1.0 - part))
    if at == 0 or at == count:
        raise ValueError(f"validation_split={part} of {count} examples leaves one part empty.")
    return [a[:at] for a in arrays], [a[at:] for a in arrays]


def batches(arrays: list[Array], batch_size: int, order: Any = None) -> Iterator[list[Array]]:
    """Slices of ``batch_size`` examples, the last one smaller, in ``order`` if given."""
    count = len(arrays[0])
    for start in range(0, count, batch_size):
        if order is None:
            yield [a[start : start + batch_size] for a in arrays]
        else:
            index = order[start : start + batch_size]
            yield [a[index] for a in arrays]


def is_dataset(value: Any) -> bool:
    """Whether ``value`` is a `tf.data` dataset or iterator."""
    return hasattr(value, "_structure") and (
        hasattr(value, "_as_variant_tensor") or hasattr(value, "get_next")
    )


def is_generator(value: Any) -> bool:
    """Whether ``value`` yields batches: a Python generator, or a `Sequence`."""
    from dataflow.keras.utils import Sequence

    return isinstance(value, Sequence) or (
        hasattr(value, "__next__") and not hasattr(value, "shape")
    )


def check_alone(x: Any, batch_size: int | None = None, y: Any = None, weights: Any = None) -> bool:
    """Whether ``x`` makes its own batches: a dataset, a generator or a `Sequence`.

    Raises `ValueError` where targets, weights or a batch size are given beside it: they would change
    nothing. Programs for the package ``keras`` may name a batch size.
    """
    if not (is_dataset(x) or is_generator(x)):
        return False
    size = None if K.is_package_keras() else batch_size
    for name, value in (("y", y), ("sample_weight", weights)):
        if value is not None:
            raise ValueError(
                f"`{name}` argument is not supported when x is a {type(x).__name__}, which gives "
                "whole batches: have it yield (inputs, targets) or (inputs, targets, weights)."
            )
    if size is not None:
        raise ValueError(
            f"The `batch_size` argument must not be specified when x is a {type(x).__name__}, which "
            "gives whole batches."
        )
    return True


def not_a_batch(element: Any) -> ValueError:
    """What to raise for an element of a dataset or generator that is no batch."""
    several = f" of {len(element)}" if isinstance(element, (tuple, list)) else ""
    return ValueError(
        "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or (input, target) "
        f"or (input, target, sample_weights), with targets to train and to evaluate; received a "
        f"{type(element).__name__}{several}."
    )


class DatasetBatches:
    """The batches of a `tf.data` dataset, as arrays; started anew for each epoch without steps, and each validation."""

    #: Whether the data ended before the steps did, which ends the training.
    has_ended = False

    def __init__(self, dataset: Any, session: BaseSession) -> None:
        self._session = session
        self._is_iterator = hasattr(dataset, "get_next")
        if self._is_iterator:
            self._iterator, self._start = dataset, None
            if dataset.has_initializer:
                self._start = dataset.initializer
        else:
            from dataflow.data.iterators import make_initializable_iterator

            self._iterator = make_initializable_iterator(dataset)
            self._start = self._iterator.initializer
        self._next = self._iterator.get_next()
        self._running = False

    def again(self, steps: int | None) -> Iterator[Any]:
        """`epoch` from the first element; an iterator goes on."""
        self._running = self._running and self._is_iterator
        return self.epoch(steps)

    def epoch(self, steps: int | None) -> Iterator[Any]:
        """Elements until the end, or ``steps`` of them, going on where the last epoch stopped."""
        from dataflow.errors import OutOfRangeError

        if self._start is not None and (steps is None or not self._running):
            self._session.run(self._start)
            self._running = True
        count = 0
        while steps is None or count < steps:
            try:
                element = self._session.run(self._next)
            except OutOfRangeError:
                if steps is not None:
                    self.has_ended = True
                    _warn_of_end("dataset", count, steps)
                return
            yield element
            count += 1


def _warn_of_end(what: str, count: int, steps: int) -> None:
    warnings.warn(
        f"Your {what} ran out of data after {count} of {steps} steps; interrupting training. Make sure that it "
        "can generate at least `steps_per_epoch * epochs` batches: call .repeat() on a dataset, or leave "
        "steps_per_epoch out.",
        stacklevel=3,
    )


class GeneratorBatches:
    """The batches of a generator or a `Sequence`, which is told of the ends of epochs of a training.

    It is not of those of an evaluation or a prediction: what it says of its order afterwards is then of these.
    """

    has_ended = False

    def __init__(self, source: Any, trains: bool) -> None:
        self._source, self._trains = source, trains

    def again(self, steps: int | None) -> Iterator[Any]:
        """As `epoch`: what a generator yielded is gone."""
        return self.epoch(steps)

    def epoch(self, steps: int | None) -> Iterator[Any]:
        """``steps`` elements; all of a `Sequence` without steps."""
        if hasattr(self._source, "__getitem__"):
            for i in range(len(self._source) if steps is None else steps):
                yield self._source[i % len(self._source)]
            if self._trains:
                self._source.on_epoch_end()
            return
        if steps is None:
            raise ValueError("A generator has no end: give steps_per_epoch= (or steps=).")
        for i in range(steps):
            try:
                yield next(self._source)
            except StopIteration:
                self.has_ended = True
                _warn_of_end("generator", i, steps)
                return


@dataclass
class Examples:
    """What `fit` trains on: arrays, a source of batches, or steps of a model that is not fed."""

    batch_size: int
    #: The number of batches of an epoch, where no arrays say it and it is known.
    num_steps: int | None
    arrays: list[Array] | None = None
    source: DatasetBatches | GeneratorBatches | None = None
    unfed: Sequence[list[Any]] = ()
    #: The part of the arrays that is kept for validation.
    held: list[Array] | None = None
    _last_order: Any = None

    def split_off(self, part: float) -> None:
        """Keep the last part of the arrays for validation; raises `ValueError` for a source."""
        if self.source is not None:
            raise ValueError("validation_split needs arrays; give validation_data.")
        if self.arrays is not None:
            self.arrays, self.held = split_off(self.arrays, part)

    @property
    def has_ended(self) -> bool:
        """Whether the source ended before the steps of an epoch did."""
        return self.source is not None and self.source.has_ended

    @property
    def steps(self) -> int | None:
        """The number of batches of an epoch; ``None``: not known."""
        if self.arrays is None:
            return self.num_steps
        return -(-len(self.arrays[0]) // self.batch_size)

    def epoch(
        self,
        batch_of: Callable[[Any], list[Any]],
        steps: int | None,
        random: np.random.RandomState | None,
    ) -> Iterable[list[Any]]:
        """The batches of an epoch: a source's elements by ``batch_of``, arrays shuffled with ``random``."""
        if self.source is not None:
            return (batch_of(element) for element in self.source.epoch(steps))
        if self.arrays is None:
            return self.unfed
        return batches(
            self.arrays, self.batch_size, None if random is None else self._order(random)
        )

    def _order(self, random: Any) -> Any:
        """An order of the examples. The package Keras shuffles that of the epoch before again."""
        assert self.arrays is not None
        if self._last_order is None or not (settings["seeds_of_numpy"] and draws_as_tensorflow()):
            self._last_order = np.arange(len(self.arrays[0]))
        random.shuffle(self._last_order)
        return self._last_order
