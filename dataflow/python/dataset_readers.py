"""``tensorflow.python.data.experimental.ops.readers``: the one of its functions that `tf.data` never had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.data.dataset import AUTOTUNE, Dataset
from dataflow.data.file_datasets import TFRecordDataset

__all__ = ["make_tf_record_dataset"]


def make_tf_record_dataset(
    file_pattern: Any,
    batch_size: int,
    parser_fn: Callable[..., Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int | None = None,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    num_parallel_parser_calls: int | None = None,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the records of files, each record parsed by ``parser_fn`` (a string without it).

    ``num_epochs`` None: forever. Records of ``num_parallel_reads`` files, 24 by default, take turns.
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    records: Dataset = TFRecordDataset(files, num_parallel_reads=num_parallel_reads or 24)
    if shuffle:
        records = records.shuffle(shuffle_buffer_size or 10000, shuffle_seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    if parser_fn is not None:
        records = records.map(parser_fn, num_parallel_parser_calls or batch_size)
    batches = records.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    if prefetch_buffer_size == 0:
        return batches
    return batches.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
