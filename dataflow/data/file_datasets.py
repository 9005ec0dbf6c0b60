"""Datasets of the strings in files: lines, TFRecords, records of one length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.data.arguments import int64_tensor
from dataflow.data.dataset import Dataset
from dataflow.data.structure import Structure, leaf_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import dataset as ops
from dataflow.ops.seeds import count_left_out


def _of_files(
    filenames: Any, read: Callable[[Tensor], Tensor], num_parallel_reads: Any = None
) -> Dataset:
    """The strings in files: ``read(names)`` is the dataset; names may come from a dataset."""
    structure = Structure.of_tensors(0, [dtypes.string], [()])
    if not isinstance(filenames, Dataset):
        names = leaf_tensor(filenames)
        count_left_out(2)
        return Dataset(structure, lambda: read(names))
    types = filenames.structure.dtypes
    if types != [dtypes.string]:
        raise TypeError(f"`filenames` must be a dataset of strings, got one of {types}.")

    def one(name: Tensor) -> Dataset:
        return Dataset(structure, lambda: read(name))

    if num_parallel_reads is None:
        return filenames.flat_map(one)
    return filenames.interleave(one, num_parallel_reads)


class _FileDataset(Dataset):
    """A dataset of the strings in files."""

    def __init__(self, made: Dataset) -> None:
        super().__init__(made.structure, made.as_variant_tensor, made)
        count_left_out(2)


class _RecordDataset(_FileDataset):
    """A dataset of the strings that an op reads from files one after the other."""

    _op: Callable[..., Tensor]

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        def read(names: Tensor) -> Tensor:
            return type(self)._op(names, compression_type or "", int64_tensor(buffer_size or 0))

        super().__init__(_of_files(filenames, read, num_parallel_reads))


class TextLineDataset(_RecordDataset):
    """The lines of text files, without line breaks; ``filenames`` may be a dataset of names."""

    _op = staticmethod(ops.text_line_dataset_op)


class TFRecordDataset(_RecordDataset):
    """The records of TFRecord files, as strings of bytes; ``filenames`` may be a dataset of names."""

    _op = staticmethod(ops.tf_record_dataset_op)


class FixedLengthRecordDataset(_FileDataset):
    """Pieces of ``record_bytes`` of files, after ``header_bytes`` and before ``footer_bytes``.

    ``filenames`` may be a dataset of names.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        def read(names: Tensor) -> Tensor:
            return ops.fixed_length_record_dataset_op(  # type: ignore[no-any-return]
                names,
                int64_tensor(header_bytes or 0),
                int64_tensor(record_bytes),
                int64_tensor(footer_bytes or 0),
                int64_tensor(buffer_size or 0),
                compression_type or "",
            )

        super().__init__(_of_files(filenames, read, num_parallel_reads))
