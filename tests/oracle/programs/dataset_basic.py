# issue 5: tf.data, values and static shapes
def drain(dataset, limit=50):
    iterator = tf.data.make_one_shot_iterator(dataset)
    element = iterator.get_next()
    got = []
    with tf.Session() as sess:
        try:
            for _ in range(limit):
                got.append(sess.run(element))
        except tf.errors.OutOfRangeError:
            got.append("end")
    return got


D = tf.data.Dataset
x = np.arange(10).astype(np.float32)
sets = {
    "slices": D.from_tensor_slices(x[:3]),
    "pairs": D.from_tensor_slices((x[:4].reshape(2, 2), [7, 8])),
    "dict": D.from_tensor_slices({"a": [1, 2], "b": [[1.0], [2.0]]}),
    "dict_label": D.from_tensor_slices(({"a": [1, 2]}, [0, 1])),
    "tensors": D.from_tensors(x[:3]),
    "range": D.range(4),
    "range3": D.range(10, 0, -3),
    "batch": D.range(7).batch(3),
    "drop": D.range(7).batch(3, drop_remainder=True),
    "repeat": D.range(2).repeat(2),
    "take": D.range(10).take(2),
    "skip": D.range(4).skip(3),
    "take_all": D.range(2).take(-1),
    "map": D.from_tensor_slices(x[:3]).map(lambda v: v * 2.0 + 1.0),
    "map_parallel": D.range(4).map(lambda v: v * v, num_parallel_calls=2),
    "map_pair": D.from_tensor_slices((x[:3], x[3:6])).map(lambda a, b: (a + b, {"d": a - b})),
    "map_dict": D.from_tensor_slices({"a": [1, 2]}).map(lambda d: d["a"] + 1),
    "filter": D.range(10).filter(lambda v: tf.equal(v % 3, 0)),
    "flat_map": D.range(3).flat_map(lambda v: D.range(v)),
    "interleave": D.range(1, 4).interleave(
        lambda v: D.from_tensors(v).repeat(3), cycle_length=2, block_length=2
    ),
    "zip": D.zip((D.range(3), D.range(5, 9))),
    "zip_dict": D.zip({"u": D.range(2), "v": D.range(2)}),
    "concatenate": D.range(2).concatenate(D.range(5, 7)),
    "shuffle_one": D.range(5).shuffle(1),
    "prefetch": D.range(3).prefetch(2),
    "cache": D.range(3).cache().repeat(2),
    "padded": D.range(1, 4).map(lambda v: tf.fill([v], v)).padded_batch(3, [None]),
    "padded_value": D.range(1, 3)
    .map(lambda v: tf.fill([v], v))
    .padded_batch(2, [4], padding_values=np.int64(-1)),
    "shard": D.range(7).shard(3, 1),
    "window": D.range(6).window(2).flat_map(lambda w: w.batch(2)),
    "unbatch": D.range(4).batch(2).unbatch(),
    "enumerate": D.range(5, 7).enumerate(),
    "reduce_like": D.range(5).scan(np.int64(0), lambda s, v: (s + v, s))
    if hasattr(D, "scan")
    else D.range(2),
    "chained": D.from_tensor_slices(np.arange(6)).map(lambda v: v + 1).batch(2).repeat(2),
    "py_func": D.range(3).map(lambda v: tf.py_func(lambda n: n * np.int64(10), [v], tf.int64)),
    "generator": D.from_generator(lambda: iter([1, 2, 3]), tf.int32),
    "generator_pair": D.from_generator(
        lambda: (([i] * i, i) for i in range(1, 3)),
        (tf.int64, tf.int64),
        (tf.TensorShape([None]), tf.TensorShape([])),
    ),
    "strings": D.from_tensor_slices(["a", "b"]),
    "apply": D.range(4).apply(lambda d: d.batch(2)),
    "one_hot": D.range(2).map(lambda v: tf.one_hot(v, 3)),
    "empty": D.range(0),
    "parse": D.from_tensor_slices(["1,2.5", "3,4.5"]).map(
        lambda line: tf.decode_csv(line, [[0], [0.0]])
    ),
    "cond_map": D.range(3).map(lambda v: tf.cond(v > 1, lambda: v * 10, lambda: v)),
    "captured": D.range(2).map(lambda v: v + tf.constant(100, tf.int64)),
}


def shape_text(s):
    return str(s)


for name, dataset in sets.items():
    result[name + "_types"] = str(tf.data.get_output_types(dataset))
    result[name + "_shapes"] = str(tf.data.get_output_shapes(dataset))
    result[name] = drain(dataset)
shuffled = drain(D.range(20).shuffle(20, seed=1))
result["shuffled"] = [
    sorted(int(v) for v in shuffled[:-1]),
    bool([int(v) for v in shuffled[:-1]] != list(range(20))),
]
one, other = drain(D.range(20).shuffle(20, seed=1)), shuffled
result["seeded"] = [int(v) for v in one[:-1]] == [int(v) for v in other[:-1]]
twice = drain(D.range(10).shuffle(10, seed=2).repeat(2))
result["reshuffled"] = [int(v) for v in twice[:10]] != [int(v) for v in twice[10:20]]
result["mismatch"] = error_of(lambda: D.from_tensor_slices(([1, 2], [1, 2, 3])))
result["scalar"] = error_of(lambda: D.from_tensor_slices(3))
result["bad_batch"] = error_of(lambda: drain(D.range(1, 3).map(lambda v: tf.fill([v], v)).batch(2)))
result["map_error"] = error_of(
    lambda: drain(D.range(2).map(lambda v: tf.check_numerics(tf.cast(v, tf.float32) / 0.0, "bad")))
)
result["generator_error"] = error_of(lambda: drain(D.from_generator(lambda: iter(["x"]), tf.int32)))
result["filter_not_bool"] = error_of(lambda: D.range(3).filter(lambda v: v))
result["concatenate_types"] = error_of(lambda: D.range(2).concatenate(D.from_tensor_slices([1.0])))
result["zip_not"] = error_of(lambda: D.zip([1, 2]))
