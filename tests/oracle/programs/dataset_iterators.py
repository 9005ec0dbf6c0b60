# issue 5: the four kinds of iterators
D = tf.data.Dataset
limit = tf.placeholder(tf.int64, [])
initializable = tf.data.make_initializable_iterator(D.range(limit))
value = initializable.get_next()
train = D.range(3).map(lambda v: v + 100)
test = D.range(2)
either = tf.data.Iterator.from_structure(
    tf.data.get_output_types(train), tf.data.get_output_shapes(train)
)
chosen = either.get_next()
to_train, to_test = either.make_initializer(train), either.make_initializer(test, name="to_test")
handle = tf.placeholder(tf.string, shape=[])
fed = tf.data.Iterator.from_string_handle(
    handle, tf.data.get_output_types(train), tf.data.get_output_shapes(train)
)
fed_value = fed.get_next()
one_shot = tf.data.make_one_shot_iterator(train)
other = tf.data.make_initializable_iterator(test)


def drain(sess, op, feed=None):
    got = []
    try:
        for _ in range(20):
            got.append(sess.run(op, feed))
    except tf.errors.OutOfRangeError:
        got.append("end")
    return got


with tf.Session() as sess:
    result["not_initialized"] = error_of(lambda: sess.run(value))
    sess.run(initializable.initializer, {limit: 3})
    result["initializable"] = drain(sess, value)
    result["stays_ended"] = error_of(lambda: sess.run(value))
    sess.run(initializable.initializer, {limit: 1})
    result["again"] = drain(sess, value)
    sess.run(to_train)
    result["train"] = drain(sess, chosen)
    sess.run(to_test)
    result["test"] = drain(sess, chosen)
    one_handle = sess.run(one_shot.string_handle())
    sess.run(other.initializer)
    other_handle = sess.run(other.string_handle())
    result["feedable"] = [
        sess.run(fed_value, {handle: h}) for h in (one_handle, other_handle, one_handle)
    ]
with tf.Session() as sess:
    feature, label = tf.data.make_one_shot_iterator(
        D.zip((D.range(3), D.range(10, 13))).batch(2)
    ).get_next()
    total = tf.reduce_sum(feature + label)
    result["in_graph"] = drain(sess, total)
    doubled = tf.data.make_one_shot_iterator(D.range(5)).get_next()
    result["fetched_together"] = sess.run([doubled, doubled * 2])
result["static"] = [str(v) for v in (shape_of(feature), shape_of(value))]
result["names"] = [value.name.split(":")[0].split("_")[0], to_test.name]
old_style = (
    D.range(2).make_one_shot_iterator()
    if hasattr(D.range(2), "make_one_shot_iterator")
    else one_shot
)
with tf.Session() as sess:
    result["method"] = sess.run(old_style.get_next()) % 100
captured = tf.Variable(5, dtype=tf.int64)
result["one_shot_variable"] = error_of(
    lambda: tf.data.make_one_shot_iterator(D.range(2).map(lambda v: v + captured))
)
stateful = (
    tf.data.make_initializable_iterator(D.range(2).map(lambda v: v + captured)) if False else None
)
