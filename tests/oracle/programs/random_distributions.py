# issue 3: shapes, dtypes and moments of random ops
tf.set_random_seed(42)
n = 20000
ops = {
    "normal": tf.random_normal([n], 2.0, 3.0),
    "truncated": tf.truncated_normal([n], 1.0, 2.0),
    "uniform": tf.random_uniform([n], -1.0, 3.0),
    "uniform_int": tf.random_uniform([n], 3, 9, dtype=tf.int32),
    "uniform64": tf.random_uniform([n], dtype=tf.float64),
    "gamma": tf.random_gamma([n], 3.0, 2.0),
    "poisson": tf.random_poisson(4.0, [n]),
    "multinomial": tf.multinomial([[0.0, 0.0, float(np.log(2.0))]], n)[0],
    "categorical": tf.random.categorical([[0.0, float(np.log(3.0))]], n)[0],
}
expected = {
    "normal": (2, 3),
    "truncated": (1, 1.76),
    "uniform": (1, 1.1547),
    "uniform_int": (5.5, 1.708),
    "uniform64": (0.5, 0.2887),
    "gamma": (1.5, 0.866),
    "poisson": (4, 2),
    "multinomial": (1.25, 0.829),
    "categorical": (0.75, 0.433),
}
with tf.Session() as sess:
    for key, op in ops.items():
        value = sess.run(op)
        mean, stddev = expected[key]
        result[key] = [
            str(value.dtype),
            list(value.shape),
            bool(abs(value.mean() - mean) < 0.1),
            bool(abs(value.std() - stddev) < 0.1),
            op.name.split(":")[0].split("/")[0],
        ]
        if key == "uniform_int":
            result["range"] = sorted({int(v) for v in value})
    result["truncated_range"] = bool(np.abs(sess.run(ops["truncated"]) - 1.0).max() <= 4.0)
    shuffled = sess.run(tf.random_shuffle(np.arange(20).reshape(10, 2)))
    result["shuffle_rows"] = [
        bool((shuffled[:, 1] - shuffled[:, 0] == 1).all()),
        sorted(int(v) for v in shuffled[:, 0]),
    ]
    crop = sess.run(tf.random_crop(np.arange(30.0).reshape(5, 6), [2, 3]))
    result["crop"] = [
        list(crop.shape),
        float(crop[0, 1] - crop[0, 0]),
        float(crop[1, 0] - crop[0, 0]),
    ]
    stateless = tf.random.stateless_uniform([4], seed=[1, 2])
    result["stateless"] = bool(np.array_equal(sess.run(stateless), sess.run(stateless)))
    ids, counts, sampled = sess.run(
        tf.nn.log_uniform_candidate_sampler([[1], [3]], 1, 5, True, 50, seed=1)
    )
    result["sampler"] = [
        list(ids.shape),
        len(set(ids.tolist())),
        str(ids.dtype),
        list(counts.shape),
        list(sampled.shape),
    ]
    result["uniform_sampler"] = [
        list(v.shape)
        for v in sess.run(tf.nn.uniform_candidate_sampler([[1], [3]], 1, 5, False, 50, seed=1))
    ]
result["dynamic_shape"] = shape_of(tf.random_normal(tf.placeholder(tf.int32, [2])))
result["bad_dtype"] = error_of(lambda: tf.random_normal([2], dtype=tf.int32))
result["int_needs_max"] = error_of(lambda: tf.random_uniform([2], dtype=tf.int32))
