# issue 3: TFRecord files and Example protos through the queue-era readers
path = tmp_dir + "/data.tfrecord"


def example(number):
    features = {
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "values": tf.train.Feature(float_list=tf.train.FloatList(value=[number * 0.5, 1.0])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"n%d" % number])),
        "tags": tf.train.Feature(int64_list=tf.train.Int64List(value=list(range(number)))),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


with tf.python_io.TFRecordWriter(path) as writer:
    for number in range(4):
        writer.write(example(number).SerializeToString())
records = list(tf.python_io.tf_record_iterator(path))
result["records"] = len(records)
back = tf.train.Example()
back.ParseFromString(records[2])
result["back"] = [
    list(back.features.feature["label"].int64_list.value),
    list(back.features.feature["values"].float_list.value),
]
queue = tf.train.string_input_producer([path], num_epochs=1, shuffle=False)
_, serialized = tf.TFRecordReader().read(queue)
spec = {
    "label": tf.FixedLenFeature([], tf.int64),
    "values": tf.FixedLenFeature([2], tf.float32),
    "name": tf.FixedLenFeature([], tf.string),
    "tags": tf.VarLenFeature(tf.int64),
    "missing": tf.FixedLenFeature([], tf.int64, default_value=-7),
}
parsed = tf.parse_single_example(serialized, features=spec)
result["static"] = {k: shape_of(v) for k, v in parsed.items() if k != "tags"}
batched = tf.parse_example(tf.constant(records), spec)
sequence = tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True)
padded = tf.parse_example(tf.constant(records), {"tags": sequence})
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    result["read"] = [sess.run(parsed) for _ in range(4)]
    result["end"] = error_of(lambda: sess.run(parsed))
    coord.request_stop()
    coord.join(threads)
    result["batched"] = sess.run(batched)
    result["padded"] = sess.run(padded)
    required = tf.parse_single_example(records[0], {"nothing": tf.FixedLenFeature([], tf.int64)})
    result["required"] = error_of(lambda: sess.run(required))
    wrong = tf.parse_single_example(records[0], {"label": tf.FixedLenFeature([], tf.float32)})
    result["wrong_type"] = error_of(lambda: sess.run(wrong))
    result["not_example"] = error_of(
        lambda: sess.run(
            tf.parse_single_example("garbage!", {"label": tf.FixedLenFeature([], tf.int64)})
        )
    )
options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
with tf.python_io.TFRecordWriter(path + ".gz", options=options) as writer:
    writer.write(b"zipped")
result["gzip"] = list(tf.python_io.tf_record_iterator(path + ".gz", options))
with open(path, "r+b") as f:
    f.seek(20)
    f.write(b"\xff\xff")
result["corrupt"] = error_of(lambda: list(tf.python_io.tf_record_iterator(path)))
