"""Kernels of datasets and their iterators; loading this package registers all of them."""

from dataflow.kernels.dataset import (
    buffers,
    csv_rows,
    functions,
    iterators,
    sources,
    sql_rows,
    transformations,
)
