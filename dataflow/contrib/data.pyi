from dataflow.data import (
    Dataset as Dataset,
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    Iterator as Iterator,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from dataflow.data.experimental import (
    AUTOTUNE as AUTOTUNE,
    Counter as Counter,
    Optional as Optional,
    batch_and_drop_remainder as batch_and_drop_remainder,
    bucket_by_sequence_length as bucket_by_sequence_length,
    choose_from_datasets as choose_from_datasets,
    enumerate_dataset as enumerate_dataset,
    get_next_as_optional as get_next_as_optional,
    get_single_element as get_single_element,
    group_by_window as group_by_window,
    map_and_batch as map_and_batch,
    sample_from_datasets as sample_from_datasets,
    shuffle_and_repeat as shuffle_and_repeat,
    unbatch as unbatch,
    unique as unique,
)
