"""`rejection_resample`: classes in given proportions, by dropping elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.data.dataset import Dataset
from dataflow.data.grouping import sample_from_datasets
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import less
from dataflow.ops.random import random_uniform
from dataflow.ops.reduce import reduce_max, reduce_min, reduce_sum
from dataflow.ops.static_value import static_value

#: TensorFlow counts classes in groups of so many elements, and begins as if each had been met so often.
_NUM_ELEMENTS_OF_AN_ESTIMATE, _COUNT_AT_FIRST = 32, 10


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """Pairs ``(class, element)`` whose classes are drawn from ``target_dist``.

    ``class_func(element)`` gives an int32 scalar, 0 to n - 1. ``target_dist`` and ``initial_dist`` [n], float:
    how often the classes are wanted, and are; without ``initial_dist`` the classes are counted while
    elements are read. The dataset is read twice, elements as they come and elements that were chosen, and
    both are mixed, so that as few as can be are left out.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")

        def with_class(*element: Any) -> Any:
            return class_func(*element), element[0] if len(element) == 1 else element

        classes = dataset.map(class_func)
        if initial_dist is not None:
            initial = convert_to_tensor(initial_dist, target.dtype, name="initial_dist")
            shares = Dataset.from_tensors(initial).repeat()
        else:
            shares = (
                classes.batch(_NUM_ELEMENTS_OF_AN_ESTIMATE)
                .scan(
                    array.fill([array.size(target)], np.int64(_COUNT_AT_FIRST)),
                    lambda seen, found: _counted(seen, found, target.dtype.base_dtype),
                )
                .unbatch()
            )
        chances = shares.map(lambda share: _acceptance(share, target))

        def looked_up(chance: Any, element: Any) -> Any:
            arguments = element if type(element) is tuple else (element,)
            number, data = with_class(*arguments)
            return number, array.gather(chance[0], number), data

        chosen = (
            Dataset.zip((chances, dataset))
            .map(looked_up)
            .filter(
                lambda _, chance, __: less(
                    random_uniform([], dtype=chance.dtype, seed=seed), chance
                )
            )
            .map(lambda number, _, data: (number, data))
        )
        if initial_dist is not None:
            there, wanted = static_value(initial), static_value(target)
            if there is not None and wanted is not None:
                least = np.min(wanted / np.maximum(there, np.finfo(wanted.dtype).tiny))
                if (
                    least >= 1
                ):  # one of the two alone: the other is never drawn, and would never end
                    return dataset.map(with_class)
                if least <= 0:
                    return chosen
        weights = chances.map(lambda _, kept: array.stack([kept, 1.0 - kept]))
        return sample_from_datasets([dataset.map(with_class), chosen], weights, seed)

    return apply


def _counted(seen: Tensor, found: Any, dtype: DTypeLike) -> tuple[Tensor, Tensor]:
    """The counts of the classes, int64 [n], with ``found`` among them; and their shares [elements, n], one row for each
    element of ``found``."""
    seen = seen + reduce_sum(array.one_hot(found, array.size(seen), dtype=dtypes.int64), 0)
    shares = cast(seen / reduce_sum(seen), dtype)
    return seen, array.tile([shares], [_NUM_ELEMENTS_OF_AN_ESTIMATE, 1])


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The probability [n] of accepting an element of each class, and the fraction that is taken unfiltered.

    With ratios r = target / initial, min r of the elements come from the dataset itself, and the others are
    chosen with chances (r - min r) / (max r - min r); together that is the target.
    """
    ratio = target / (initial + np.finfo(target.dtype.as_numpy_dtype).tiny)
    least, most = reduce_min(ratio), reduce_max(ratio)
    spread = most - least
    return array.where(
        array.fill(array.shape(ratio), spread > 0), (ratio - least) / spread, array.ones_like(ratio)
    ), least
