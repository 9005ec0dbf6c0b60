# issue 5: datasets from text, csv, TFRecord and binary files
import os


def drain(dataset):
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    got = []
    with tf.Session() as sess:
        try:
            while True:
                got.append(sess.run(element))
        except tf.errors.OutOfRangeError:
            return got


paths = []
for number in range(2):
    paths.append(os.path.join(tmp_dir, f"f{number}.txt"))
    with open(paths[-1], "w") as f:
        f.write(f"header\n{number},0.5,x\n{number + 10},1.5,y\n")
record = os.path.join(tmp_dir, "r.tfrecord")
with tf.python_io.TFRecordWriter(record) as writer:
    for number in range(3):
        example = tf.train.Example(
            features=tf.train.Features(
                feature={
                    "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                    "v": tf.train.Feature(float_list=tf.train.FloatList(value=[number, 0.5])),
                }
            )
        )
        writer.write(example.SerializeToString())
binary = os.path.join(tmp_dir, "b.bin")
with open(binary, "wb") as f:
    f.write(bytes(range(6)))
result["lines"] = drain(tf.data.TextLineDataset(paths))
result["skipped"] = drain(
    tf.data.Dataset.from_tensor_slices(paths).flat_map(lambda p: tf.data.TextLineDataset(p).skip(1))
)
result["parsed"] = drain(
    tf.data.TextLineDataset(paths[0])
    .skip(1)
    .map(lambda line: tf.decode_csv(line, [[0], [0.0], [""]]))
)
features = {"n": tf.FixedLenFeature([], tf.int64), "v": tf.FixedLenFeature([2], tf.float32)}
result["records"] = drain(
    tf.data.TFRecordDataset(record).map(lambda s: tf.parse_single_example(s, features))
)
result["batched"] = drain(
    tf.data.TFRecordDataset([record]).batch(2).map(lambda s: tf.parse_example(s, features))
)
result["binary"] = drain(
    tf.data.FixedLengthRecordDataset(binary, 2).map(lambda s: tf.decode_raw(s, tf.uint8))
)
result["interleaved"] = drain(
    tf.data.Dataset.from_tensor_slices(paths).interleave(
        lambda p: tf.data.TextLineDataset(p), cycle_length=2
    )
)
result["listed"] = sorted(
    os.path.basename(p.decode())
    for p in drain(tf.data.Dataset.list_files(os.path.join(tmp_dir, "*.txt"), shuffle=False))
)
result["csv"] = drain(
    tf.data.experimental.CsvDataset(paths, [tf.int32, tf.float32, tf.string], header=True)
)
result["missing"] = error_of(lambda: drain(tf.data.TextLineDataset(os.path.join(tmp_dir, "none"))))
with open(record, "r+b") as f:
    f.seek(14)
    f.write(b"\xff")
result["corrupt"] = error_of(lambda: drain(tf.data.TFRecordDataset(record)))
import gzip

with gzip.open(os.path.join(tmp_dir, "z.gz"), "wt") as f:
    f.write("zipped\n")
result["gzip"] = drain(
    tf.data.TextLineDataset(os.path.join(tmp_dir, "z.gz"), compression_type="GZIP")
)
