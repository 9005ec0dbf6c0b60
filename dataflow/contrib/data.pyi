from dataflow.data import (
    Dataset as Dataset,
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    Iterator as Iterator,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from dataflow.data.experimental import (
    batch_and_drop_remainder as batch_and_drop_remainder,
    map_and_batch as map_and_batch,
    shuffle_and_repeat as shuffle_and_repeat,
    unbatch as unbatch,
)
