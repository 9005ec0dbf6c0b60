"""``slim.dataset_data_provider``: the examples of a `slim.dataset.Dataset`, one at a time."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.slim.data_provider import DataProvider
from dataflow.contrib.slim.parallel_reader import parallel_read

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """Reads a data set in parallel (`slim.parallel_reader.parallel_read`) and decodes its records.

    ``record_key`` names the item that holds each record's key. Raises `ValueError` when the data set
    has an item of this name.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: dict[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, record = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = list(dataset.decoder.list_items())
        if record_key in items:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        tensors = dataset.decoder.decode(record, items)
        found = dict(zip(items, tensors, strict=True))
        found[record_key] = key
        super().__init__(items_to_tensors=found, num_samples=dataset.num_samples)
