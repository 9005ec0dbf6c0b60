# issue 5: serving receivers and export
import os

tf.logging.set_verbosity(tf.logging.ERROR)
columns = [tf.feature_column.numeric_column("a")]
model = tf.estimator.LinearRegressor(columns, tmp_dir + "/model")
model.train(
    lambda: tf.data.Dataset.from_tensors(({"a": [[1.0], [2.0]]}, [[2.0], [4.0]])).repeat(), steps=5
)
spec = tf.feature_column.make_parse_example_spec(columns)
receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
path = model.export_savedmodel(tmp_dir + "/export", receiver)
result["path"] = [
    os.path.dirname(path.decode() if isinstance(path, bytes) else path).endswith("export")
]
raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
    {"a": tf.placeholder(tf.float32, [None, 1])}
)
other = model.export_savedmodel(tmp_dir + "/raw", raw)
with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(
        sess, ["serve"], other.decode() if isinstance(other, bytes) else other
    )
    result["signatures"] = sorted(meta.signature_def)
