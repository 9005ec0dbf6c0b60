from dataflow.formats.record_files import (
    tf_record_iterator as tf_record_iterator,
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
)
