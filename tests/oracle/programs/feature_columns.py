# issue 5: feature columns through input_layer and linear_model
# tolerance 1e-4
F = tf.feature_column
features = {
    "age": [[23.0], [41.0], [67.0]],
    "pair": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    "city": [["rome"], ["oslo"], ["elsewhere"]],
    "id": [[0], [3], [1]],
    "job": [["a"], ["b"], ["a"]],
}
age = F.numeric_column("age")
city = F.categorical_column_with_vocabulary_list("city", ["rome", "oslo"])
city_oov = F.categorical_column_with_vocabulary_list("city", ["rome", "oslo"], num_oov_buckets=1)
identity = F.categorical_column_with_identity("id", 4)
hashed = F.categorical_column_with_hash_bucket("job", 10)
buckets = F.bucketized_column(age, [30.0, 60.0])
crossed = F.crossed_column([buckets, "job"], 20)
columns = {
    "numeric": age,
    "shaped": F.numeric_column("pair", shape=[2]),
    "normalized": F.numeric_column("age", normalizer_fn=lambda v: (v - 40.0) / 10.0),
    "bucketized": buckets,
    "indicator": F.indicator_column(city),
    "indicator_oov": F.indicator_column(city_oov),
    "identity": F.indicator_column(identity),
    "hashed": F.indicator_column(hashed),
    "embedding": F.embedding_column(
        identity, 2, initializer=tf.constant_initializer(np.arange(8.0).reshape(4, 2))
    ),
    "embedding_sum": F.embedding_column(
        city, 2, combiner="sum", initializer=tf.constant_initializer(1.5)
    ),
    "crossed": F.indicator_column(crossed),
}
out = {name: F.input_layer(features, [column]) for name, column in columns.items()}
out["several"] = F.input_layer(features, [columns["indicator"], age, columns["shaped"]])
for name, tensor in out.items():
    result[name + "_shape"] = shape_of(tensor)
linear = F.linear_model(features, [age, buckets, city, crossed], units=1)
result["variables"] = [(v.name, shape_of(v)) for v in tf.global_variables()]
parse = F.make_parse_example_spec([age, city, F.numeric_column("pair", [2], default_value=0.0)])
result["parse"] = {k: [type(v).__name__, v.dtype.name] for k, v in parse.items()}
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for name, tensor in out.items():
        result[name] = sess.run(tensor)
    for v in tf.global_variables():
        if v.name.startswith("linear_model"):
            sess.run(v.assign(np.full(v.get_shape().as_list(), 0.5, np.float32)))
    result["linear"] = sess.run(linear)
result["names"] = [
    age.name,
    buckets.name,
    columns["indicator"].name,
    columns["embedding"].name,
    crossed.name,
]
result["missing"] = error_of(lambda: F.input_layer({"other": [[1.0]]}, [age]))
result["not_dense"] = error_of(lambda: F.input_layer(features, [city]))
result["boundaries"] = error_of(lambda: F.bucketized_column(age, [3.0, 1.0]))
result["equal"] = [F.numeric_column("age") == age, age.key, age.shape]
