"""`tf.data.experimental` (and `tf.contrib.data`): transformations for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.data.dataset import AUTOTUNE, Dataset, TextLineDataset

__all__ = [
    "AUTOTUNE",
    "CsvDataset",
    "batch_and_drop_remainder",
    "ignore_errors",
    "map_and_batch",
    "parallel_interleave",
    "scan",
    "shuffle_and_repeat",
    "unbatch",
]


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """`map`, then `batch`."""
    return lambda d: d.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def shuffle_and_repeat(
    buffer_size: Any, count: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """`shuffle`, then `repeat`."""
    return lambda d: d.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, **_: Any
) -> Callable[[Dataset], Dataset]:
    """`interleave`."""
    return lambda d: d.interleave(map_func, cycle_length, block_length)


def batch_and_drop_remainder(batch_size: Any) -> Callable[[Dataset], Dataset]:
    """`batch` without a smaller last batch."""
    return lambda d: d.batch(batch_size, drop_remainder=True)


def ignore_errors(log_warning: bool = False) -> Callable[[Dataset], Dataset]:
    """`Dataset.ignore_errors`."""
    return lambda d: d.ignore_errors(log_warning)


def unbatch() -> Callable[[Dataset], Dataset]:
    """`Dataset.unbatch`."""
    return lambda d: d.unbatch()


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """`Dataset.scan`."""
    return lambda d: d.scan(initial_state, scan_func)


def CsvDataset(
    filenames: Any,
    record_defaults: Any,
    compression_type: Any = None,
    buffer_size: Any = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
) -> Dataset:
    """The rows of CSV files as tuples; a dtype in ``record_defaults`` marks a required column."""
    from dataflow.dtypes import DType
    from dataflow.ops.parsing import decode_csv
    from dataflow.ops.sources import constant

    defaults = [
        constant([], d)
        if isinstance(d, DType)
        else ([d] if not isinstance(d, (list, tuple)) else d)
        for d in record_defaults
    ]

    def lines(name: Any) -> Dataset:
        one = TextLineDataset(name, compression_type, buffer_size)
        return one.skip(1) if header else one

    names = filenames if isinstance(filenames, (list, tuple)) else [filenames]
    files = Dataset.from_tensor_slices(list(names))
    return files.flat_map(lines).map(
        lambda line: tuple(
            decode_csv(line, defaults, field_delim, use_quote_delim, None, na_value, select_cols)
        )
    )
