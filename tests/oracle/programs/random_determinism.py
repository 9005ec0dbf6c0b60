# issue 3: seeds: what repeats and what does not (the values themselves are the engine's own)
def two_sessions(build):
    tf.reset_default_graph()
    op = build()
    with tf.Session() as one:
        first = [one.run(op), one.run(op)]
    with tf.Session() as two:
        second = [two.run(op), two.run(op)]
    return first, second


def summary(first, second):
    return [
        bool(np.array_equal(first[0], first[1])),
        bool(np.array_equal(first[0], second[0])),
        bool(np.array_equal(first[1], second[1])),
    ]


def graph_seed():
    tf.set_random_seed(1234)
    return tf.random_uniform([3])


result["op_seed"] = summary(*two_sessions(lambda: tf.random_normal([3], seed=1)))
result["graph_seed"] = summary(*two_sessions(graph_seed))
result["no_seed"] = summary(*two_sessions(lambda: tf.random_normal([3])))
result["shuffle"] = summary(*two_sessions(lambda: tf.random_shuffle(tf.range(50), seed=3)))


def both(build):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    with tf.Session() as sess:
        return sess.run(build())


again = [both(lambda: tf.random_normal([4])) for _ in range(2)]
result["same_graph_same_numbers"] = bool(np.array_equal(*again))
tf.reset_default_graph()
tf.set_random_seed(7)
a = tf.random_normal([4])
b = tf.random_normal([4])
c = tf.random_normal([4], seed=5)
d = tf.random_normal([4], seed=5)
with tf.Session() as sess:
    va, vb, vc, vd = sess.run([a, b, c, d])
    result["two_ops_differ"] = bool((va != vb).any())
    result["same_seed_same_stream"] = bool((vc == vd).all())
    one, other = sess.run([a, a])
    result["fetched_twice"] = bool((one == other).all())
result["get_seed"] = [tf.get_seed(None)[0], tf.get_seed(5)[1]]
tf.set_random_seed(11)
drop = tf.nn.dropout(tf.ones([1000]), 0.25)
with tf.Session() as sess:
    kept = sess.run(drop)
    result["dropout_values"] = sorted({float(x) for x in kept})
    result["dropout_share"] = bool(abs((kept > 0).mean() - 0.25) < 0.06)
    old = sess.run(tf.nn.dropout(tf.ones([10, 1000]), keep_prob=0.5, noise_shape=[10, 1]))
    result["noise_shape"] = bool((old.std(axis=1) == 0).all())
    result["rate"] = sorted({float(x) for x in sess.run(tf.nn.dropout(tf.ones([500]), rate=0.2))})
result["bad_keep"] = error_of(lambda: tf.nn.dropout(tf.ones([3]), keep_prob=1.5))
