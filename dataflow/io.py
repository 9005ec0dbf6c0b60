"""`tf.io`: reading and writing files, and what is in them."""

# ruff: noqa: F401  (names for users)

from __future__ import annotations

from dataflow.data.record_files import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from dataflow.graph.serialize import write_graph
from dataflow.ops.image_files import (
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from dataflow.ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    decode_compressed,
    decode_csv,
    decode_raw,
    parse_example,
    parse_single_example,
    parse_tensor,
    serialize_tensor,
)
from dataflow.ops.queue import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from dataflow.ops.reader import matching_files, read_file, write_file
from dataflow.ops.sequence_parsing import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from dataflow.ops.sparse import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from dataflow.ops.string import decode_base64, encode_base64
from dataflow.train.input import match_filenames_once
