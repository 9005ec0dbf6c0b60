# issue 3: every structure a session may fetch
import collections

a = tf.constant([1.0, 2.0], name="a")
b = tf.constant(3, name="b")
v = tf.Variable(5.0, name="v")
Pair = collections.namedtuple("Pair", ["first", "second"])
with tf.Session() as sess:
    result["op"] = sess.run(v.initializer)
    result["list"] = sess.run([a, b])
    result["tuple"] = sess.run((a, b))
    result["tuple_type"] = type(sess.run((a, b))).__name__
    result["dict"] = sess.run({"x": a, "y": [b, v]})
    result["named"] = sess.run(Pair(a, b))
    result["nested"] = sess.run([[a], {"k": (b,)}])
    result["empty"] = sess.run([])
    result["same_twice"] = sess.run([a, a])
    result["variable"] = sess.run(v)
    result["group"] = sess.run([tf.group(v.assign_add(1.0)), v])[0]
    result["none"] = error_of(lambda: sess.run(None))
    result["number"] = error_of(lambda: sess.run(3))
    result["list_of_none"] = error_of(lambda: sess.run([a, None]))
    sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
    result["sparse"] = sess.run(sparse)
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]), tf.constant([4, 1]))
    result["slices"] = sess.run(slices)
    result["types"] = [type(x).__name__ for x in sess.run([a, b])]
