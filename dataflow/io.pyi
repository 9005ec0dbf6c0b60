from dataflow.formats.record_files import (
    tf_record_iterator as tf_record_iterator,
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
)
from dataflow.graph.serialize import write_graph as write_graph
from dataflow.ops.image_files import (
    decode_bmp as decode_bmp,
    decode_gif as decode_gif,
    decode_image as decode_image,
    decode_jpeg as decode_jpeg,
    decode_png as decode_png,
    encode_jpeg as encode_jpeg,
    encode_png as encode_png,
    extract_jpeg_shape as extract_jpeg_shape,
    is_jpeg as is_jpeg,
)
from dataflow.ops.parsing import (
    decode_compressed as decode_compressed,
    decode_csv as decode_csv,
    decode_raw as decode_raw,
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
    parse_tensor as parse_tensor,
    serialize_tensor as serialize_tensor,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    decode_json_example as decode_json_example,
)
from dataflow.ops.queues import (
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from dataflow.ops.reader import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from dataflow.ops.sequence_parsing import (
    parse_sequence_example as parse_sequence_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from dataflow.ops.sparse import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from dataflow.ops.string import decode_base64 as decode_base64, encode_base64 as encode_base64
from dataflow.train.input import match_filenames_once as match_filenames_once
from dataflow.ops.image_files import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
)
from dataflow import (
    file_functions as gfile,
)
