from dataflow.ops.ragged_factory import (
    constant as constant,
    constant_value as constant_value,
    placeholder as placeholder,
)
from dataflow.ops.ragged_math import (
    boolean_mask as boolean_mask,
    map_flat_values as map_flat_values,
    ragged_range as range,
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
    stack as stack,
    stack_dynamic_partitions as stack_dynamic_partitions,
)
from dataflow.ops.ragged_value import RaggedTensorValue as RaggedTensorValue
