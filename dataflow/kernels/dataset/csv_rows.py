"""The kernel of datasets of the rows of CSV files, which are decoded many at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array
from dataflow.kernels.csv_records import Layout
from dataflow.kernels.dataset.blocks import Block, Blocks, in_lists
from dataflow.kernels.dataset.elements import END, flattened, pulled
from dataflow.kernels.dataset.sources import opened
from dataflow.kernels.located_lines import located
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text, texts

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


class _Records(NamedTuple):
    """Records of a file: their texts, the lines where they begin, and the first one's number."""

    path: str
    texts: list[bytes]
    lines: Sequence[int]
    first: int

    def halves(self) -> tuple[_Records, _Records]:
        middle = len(self.texts) // 2
        return (
            self._replace(texts=self.texts[:middle], lines=self.lines[:middle]),
            _Records(self.path, self.texts[middle:], self.lines[middle:], self.first + middle),
        )


def _without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


#: A line with its end, which is "\\n", "\\r\\n" or "\\r".
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def _at_carriage_returns(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines, which end at "\\n", parted where a "\\r" stands alone."""
    for line in lines:
        if line.find(b"\r", 0, -2) < 0 and not line.endswith(b"\r"):
            yield line
        else:
            yield from _LINE.findall(line)


def _joined(lines: Iterator[list[bytes]], layout: Layout) -> Iterator[tuple[list[bytes], Any]]:
    """The records of a file, in lists, and the lines where they begin; a quoted field may have several."""
    number = 1  # of the next line
    open_record: list[bytes] = []
    began, num_quotes = 0, 0
    for block in lines:
        here = range(number, number + len(block))
        number += len(block)
        if not open_record and not (layout.quotes and b'"' in b"".join(block)):
            yield [_without_end(line) for line in block], here
            continue
        found: list[bytes] = []
        starts: list[int] = []
        for at, line in zip(here, block, strict=True):
            if open_record:
                open_record.append(line)
                num_quotes += line.count(b'"')
                if num_quotes % 2:
                    continue
                line, open_record, at = b"".join(open_record), [], began
            elif layout.goes_on(line):
                open_record, began, num_quotes = [line], at, line.count(b'"')
                continue
            found.append(_without_end(line))
            starts.append(at)
        if found:
            yield found, starts
    if open_record:  # until the end of the file
        yield [_without_end(b"".join(open_record))], [began]


def _records(path: str, compression: str, layout: Layout, header: bool) -> Iterator[_Records]:
    from dataflow.formats.compression import lines

    with opened(path, compression) as file:
        first = 0
        for found, starts in _joined(
            in_lists(_at_carriage_returns(lines(path, file, compression))), layout
        ):
            if header:
                found, starts, header = found[1:], starts[1:], False
            if found:
                yield _Records(path, found, starts, first)
                first += len(found)
    if header:
        raise InvalidArgumentError(
            None, None, f"{path}: Can't read header of file: it is empty; header=False reads it"
        )


@kernel("CSVDataset", stateful=True, cpu_only="files are read by the host")
def csv_dataset_kernel(
    ctx: KernelContext,
    filenames: Array,
    compression_type: Array,
    buffer_size: Array,
    header: Array,
    field_delim: Array,
    use_quote_delim: Array,
    na_value: Array,
    select_cols: Array,
    record_defaults: list[Any],
    *,
    output_types: Any,
) -> Any:
    from dataflow.formats.record_files import compression_name

    if buffer_size < 0:
        raise InvalidArgumentError(None, None, "buffer_size should be positive")
    paths, compression = texts(filenames), compression_name(text(compression_type).upper())
    has_header = bool(header)
    layout = Layout(
        record_defaults,
        output_types,
        text(field_delim).encode(),
        bool(use_quote_delim),
        text(na_value).encode(),
        np.asarray(select_cols).tolist(),
    )

    def start() -> Iterator[Block]:
        files = iter([_records(path, compression, layout, has_header) for path in paths])
        waiting: list[_Records] = []  # the next ones last
        source = flattened(files)

        def pull() -> Any:
            while not waiting:
                records = next(source, END)
                if records is END:
                    return END
                waiting.append(records)
            while True:
                records = waiting.pop()
                try:
                    return layout.decode(records.texts, records.first)
                except ValueError:
                    if len(records.texts) == 1:
                        line = located(records.texts[0], records.path, records.lines[0])
                        return layout.decode([line], records.first)  # its error says where
                # What is before the record at fault comes first, and what follows it afterwards.
                waiting.extend(reversed(records.halves()))

        return pulled(pull)

    return Blocks(start)
