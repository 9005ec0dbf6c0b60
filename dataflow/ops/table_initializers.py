"""What fills a lookup table: pairs of tensors, or the lines of a text file."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.lookup import initialize_table_from_text_file_op, lookup_table_import_op
from dataflow.ops.static_value import static_value


class TextFileIndex:
    """Which part of a line is a key or value: ``WHOLE_LINE``, ``LINE_NUMBER``, or a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """Fills a table from two tensors of the same length."""

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._keys = convert_to_tensor(keys, key_dtype, "keys")
        self._values = convert_to_tensor(values, value_dtype, "values")
        self._name = name if name is not None else "key_value_init"
        self.key_dtype = self._keys.dtype.base_dtype
        self.value_dtype = self._values.dtype.base_dtype

    def initialize(self, table: Any) -> Any:
        """The operation that fills ``table``."""
        _check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with op_scope(None, self._name, [table.resource_handle, self._keys, self._values]):
            return lookup_table_import_op(table.resource_handle, self._keys, self._values)


class TextFileInitializer:
    """Fills a table from the lines of a text file."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("Filename required")
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        for what, index, dtype in (
            ("key", key_index, self.key_dtype),
            ("value", value_index, self.value_dtype),
        ):
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(f"the {what} is a line number, so its dtype is int64, not {dtype}")
            if (
                index == TextFileIndex.WHOLE_LINE
                and what == "key"
                and not (dtype.is_integer or dtype is dtypes.string)
            ):
                raise ValueError(f"a whole line as {what} is a string or an integer, not {dtype}")
            if index < -2:
                raise ValueError(f"Invalid {what} index {index}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}")
        if key_index == value_index and key_index >= 0:
            raise ValueError("key_index and value_index must be different columns")
        self._filename = filename
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter = vocab_size, delimiter
        self._name = name if name is not None else "text_file_init"
        self._offset = value_index_offset

    @property
    def filename(self) -> Any:
        """The file, as it was given."""
        return self._filename

    @property
    def _shared_name(self) -> str:
        size = "" if self._vocab_size is None else f"_{self._vocab_size}"
        return f"hash_table_{self._filename}{size}_{self._key_index}_{self._value_index}"

    def initialize(self, table: Any, filename: Any = None) -> Any:
        """The operation that fills ``table``; from ``filename``, where the file is another one now."""
        _check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with op_scope(None, self._name, [table.resource_handle]):
            path = self._filename if filename is None else filename
            filename = convert_to_tensor(path, dtypes.string, name="asset_filepath")
            op = initialize_table_from_text_file_op(
                table.resource_handle,
                filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        if static_value(filename) is not None:  # a file that is fed is none of a SavedModel's
            default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return op


class TextFileStringTableInitializer(TextFileInitializer):
    """Line number -> whole line."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Whole line -> line number."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


def _check_table_dtypes(table: Any, key_dtype: DType, value_dtype: DType) -> None:
    if table.key_dtype is not key_dtype or table.value_dtype is not value_dtype:
        raise TypeError(
            f"Invalid key/value dtypes: the table maps {table.key_dtype.name} to "
            f"{table.value_dtype.name}, the initializer {key_dtype.name} to {value_dtype.name}"
        )
