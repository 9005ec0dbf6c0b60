# issue 16: sparse tensors as components of datasets
"""Group 6: sparse tensors in tf.data."""


def example(values):
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Example(features=tf.train.Features(feature={"v": feature})).SerializeToString()


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "dense_shape"):
        return [np.asarray(part) for part in value]
    return [plain(part) for part in value] if isinstance(value, tuple) else value


def elements(dataset):
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    found = []
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        while True:
            try:
                found.append(plain(sess.run(element)))
            except tf.errors.OutOfRangeError:
                return found


sparse = tf.SparseTensor([[0, 0], [1, 2], [2, 1]], [1, 2, 3], [3, 4])
rows = tf.data.Dataset.from_tensor_slices(sparse)
examples = tf.data.Dataset.from_tensor_slices([example([1, 2]), example([]), example([3])])
features = {"v": tf.VarLenFeature(tf.int64)}
parsed = examples.map(lambda e: tf.parse_single_example(e, features))
value = tf.SparseTensorValue([[0, 0], [1, 2], [2, 1]], [1, 2, 3], [3, 4])
fill = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
datasets = {
    "parsed": parsed,
    "parsed_batch": parsed.batch(2),
    "parsed_batches": examples.batch(2).apply(tf.data.experimental.parse_example_dataset(features)),
    "slices": rows,
    "value_and_dense": tf.data.Dataset.from_tensor_slices((value, [1, 2, 3])),
    "tensors": tf.data.Dataset.from_tensors(sparse),
    "batch": rows.batch(2),
    "map": rows.map(lambda s: (tf.sparse_tensor_to_dense(s), s)),
    "filter": rows.filter(lambda s: tf.equal(tf.reduce_sum(s.values), 2)),
    "chain": rows.repeat(2).shuffle(1).prefetch(1).take(4).skip(1).cache(),
    "flat_map": rows.flat_map(lambda s: tf.data.Dataset.from_tensors(s).repeat(2)),
    "interleave": rows.interleave(lambda s: tf.data.Dataset.from_tensors(s).repeat(2), 2),
    "concatenate": rows.concatenate(tf.data.Dataset.from_tensors(tf.SparseTensor([[0]], [1], [4]))),
    "unbatch": tf.data.Dataset.from_tensors(sparse).apply(tf.data.experimental.unbatch()),
    "window": rows.window(2).flat_map(lambda d: d.batch(2)),
    "dense_to_sparse": fill.apply(tf.data.experimental.dense_to_sparse_batch(2, [4])),
    "triples": tf.data.Dataset.from_sparse_tensor_slices(sparse),
}
for name, dataset in datasets.items():
    result[name] = elements(dataset)
    result[f"{name}_shapes"] = [
        shape_of(s) for s in tf.nest.flatten(tf.data.get_output_shapes(dataset))
    ]
    result[f"{name}_classes"] = [
        c.__name__ for c in tf.nest.flatten(tf.data.get_output_classes(dataset))
    ]
with tf.Session() as sess:
    result["reduce"] = sess.run(rows.reduce(0, lambda a, s: a + tf.reduce_sum(s.values)))
result["padded_batch"] = error_of(lambda: rows.padded_batch(2, [None]))

handle = tf.placeholder(tf.string, [])
chosen = tf.data.Iterator.from_string_handle(
    handle, rows.output_types, rows.output_shapes, rows.output_classes
).get_next()
structure = tf.data.Iterator.from_structure(
    rows.output_types, rows.output_shapes, output_classes=rows.output_classes
)
following = structure.get_next()
start = structure.make_initializer(rows)
one_shot = rows.make_one_shot_iterator()
with tf.Session() as sess:
    result["by_handle"] = plain(sess.run(chosen, {handle: sess.run(one_shot.string_handle())}))
    sess.run(start)
    result["by_structure"] = plain(sess.run(following))

unknown_rows = tf.data.Dataset.from_generator(lambda: iter([[1], [2, 3]]), tf.int64, [None])
more = {
    "wide": examples.map(lambda e: tf.parse_single_example(e, features)["v"]),
    "dense_to_sparse_unknown": unknown_rows.apply(
        tf.data.experimental.dense_to_sparse_batch(2, [None])
    ),
    "parsed_and_label": tf.data.Dataset.zip((parsed, tf.data.Dataset.range(3))).batch(3),
    "map_add": rows.map(lambda s: tf.sparse_add(s, s)),
    "map_values": rows.map(lambda s: s.values),
    "map_parts": rows.map(lambda s: (s.indices, s.dense_shape)),
    "map_twice": rows.map(lambda s: (s, s)),
    "map_parallel": rows.map(lambda s: s, num_parallel_calls=2).batch(2, drop_remainder=True),
    "text": tf.data.Dataset.from_tensors(tf.SparseTensor([[1]], ["a"], [3])),
    "ranks": tf.data.Dataset.from_tensor_slices(
        tf.SparseTensor([[0, 1, 0], [1, 0, 1]], [1.5, 2.5], [2, 2, 2])
    ).batch(2),
}
for name, dataset in more.items():
    result[name] = elements(dataset)
    result[f"{name}_shapes"] = [
        shape_of(s) for s in tf.nest.flatten(tf.data.get_output_shapes(dataset))
    ]
second_run = rows.batch(3).make_initializable_iterator()
total = tf.sparse_reduce_sum(second_run.get_next())
with tf.Session() as sess:
    for _ in range(2):
        sess.run(second_run.initializer)
        result[f"again {_}"] = sess.run(total)
result["vector_batches"] = error_of(
    lambda: tf.data.Dataset.from_tensor_slices(tf.SparseTensor([[0]], [1], [2])).batch(2)
)
ragged = tf.ragged.constant([[1, 2], [3]])
tripled = tf.ragged.map_flat_values(lambda v: v * 3, ragged)
result["flat_values_shape"] = [shape_of(tripled), shape_of(tripled.flat_values)]
