from dataflow.ops.ragged_factory import (
    constant as constant,
    constant_value as constant_value,
    placeholder as placeholder,
)
from dataflow.ops.ragged_indexing import boolean_mask as boolean_mask
from dataflow.ops.ragged_joining import (
    stack as stack,
    stack_dynamic_partitions as stack_dynamic_partitions,
)
from dataflow.ops.ragged_ranges import (
    ragged_range as range,
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
)
from dataflow.ops.ragged_shape import map_flat_values as map_flat_values
from dataflow.ops.ragged_value import RaggedTensorValue as RaggedTensorValue
