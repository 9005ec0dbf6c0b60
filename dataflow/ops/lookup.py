"""Lookup tables: resources that map keys to values, filled once or as the graph runs."""

from __future__ import annotations

from dataflow import shapes
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.shape import need_rank
from dataflow.shapes import Dims

_TABLE = (
    "container: str = '', shared_name: str = '', use_node_name_sharing: bool = False, "
    "key_dtype: DType, value_dtype: DType"
)

hash_table_op = declare_op(
    "HashTableV2",
    "-> table_handle: resource",
    "The handle of a table that is filled once. Not differentiable.",
    attrs=_TABLE,
    stateful=True,
    is_handle=True,
)
mutable_hash_table_op = declare_op(
    "MutableHashTableV2",
    "-> table_handle: resource",
    "The handle of a table that changes as the graph runs. Not differentiable.",
    attrs=_TABLE,
    stateful=True,
    is_handle=True,
)
mutable_hash_table_of_tensors_op = declare_op(
    "MutableHashTableOfTensorsV2",
    "-> table_handle: resource",
    "As MutableHashTableV2, with values of shape ``value_shape``. Not differentiable.",
    attrs=f"{_TABLE}, value_shape: Shape = ()",
    stateful=True,
    is_handle=True,
)


def _check_pairs(keys: Tensor, values: Tensor) -> None:
    if keys.dims is not None and values.dims is not None:
        if not shapes.compatible(keys.dims, values.dims[: len(keys.dims)]):
            raise ValueError(
                f"{shapes.list_dims(keys.dims)} keys for {shapes.list_dims(values.dims)} values"
            )


@define_op(
    "LookupTableImportV2", "table_handle: resource, keys: Tin, values: Tout ->", stateful=True
)
def lookup_table_import_op(table_handle: Tensor, keys: Tensor, values: Tensor) -> list[Dims]:
    """Replaces all that a table holds. Not differentiable."""
    _check_pairs(keys, values)
    return []


@define_op(
    "InitializeTableV2", "table_handle: resource, keys: Tkey, values: Tval ->", stateful=True
)
def initialize_table_op(table_handle: Tensor, keys: Tensor, values: Tensor) -> list[Dims]:
    """Fills a table that is filled once. Not differentiable."""
    need_rank(keys, 1, "the keys")
    _check_pairs(keys, values)
    return []


@define_op(
    "InitializeTableFromTextFileV2",
    "table_handle: resource, filename: string ->",
    stateful=True,
    later_attrs={"offset": 0},
)
def initialize_table_from_text_file_op(
    table_handle: Tensor,
    filename: Tensor,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int = -1,
    delimiter: str = "\t",
    offset: int = 0,
) -> list[Dims]:
    """Fills a table from the lines of a file: an index -1 is the line's number, -2 the whole line.

    Not differentiable.
    """
    need_rank(filename, 0, "the filename")
    return []


@define_op(
    "LookupTableFindV2",
    "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout",
    stateful=True,
    only_looks=True,
)
def lookup_table_find_op(table_handle: Tensor, keys: Tensor, default_value: Tensor) -> Dims:
    """The values of keys, ``default_value`` for those that are not there. Not differentiable."""
    if keys.dims is None or default_value.dims is None:
        return None
    return keys.dims + default_value.dims


@define_op(
    "LookupTableInsertV2", "table_handle: resource, keys: Tin, values: Tout ->", stateful=True
)
def lookup_table_insert_op(table_handle: Tensor, keys: Tensor, values: Tensor) -> list[Dims]:
    """Puts keys into a mutable table, in place of older ones. Not differentiable."""
    _check_pairs(keys, values)
    return []


lookup_table_remove_op = declare_op(
    "LookupTableRemoveV2",
    "table_handle: resource, keys: Tin ->",
    "Takes keys out of a mutable table. Not differentiable.",
    stateful=True,
)
lookup_table_size_op = declare_op(
    "LookupTableSizeV2",
    "table_handle: resource -> size: int64",
    "How many keys a table has. Not differentiable.",
    stateful=True,
    only_looks=True,
)
lookup_table_export_op = declare_op(
    "LookupTableExportV2",
    "table_handle: resource -> keys: Tkeys, values: Tvalues",
    "All keys and values of a table. Not differentiable.",
    [(None,), None],
    attrs="Tkeys: DType, Tvalues: DType",
    stateful=True,
    only_looks=True,
)


not_differentiable(
    lookup_table_import_op,
    initialize_table_op,
    initialize_table_from_text_file_op,
    lookup_table_find_op,
    lookup_table_insert_op,
)
