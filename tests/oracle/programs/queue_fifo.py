# issue 3: first in, first out
q = tf.FIFOQueue(3, [tf.float32], shapes=[[]], name="q")
init = q.enqueue_many(([0.1, 0.2, 0.3],))
x = q.dequeue()
back = q.enqueue([x + 1.0])
with tf.Session() as sess:
    sess.run(init)
    sess.run(back)
    sess.run(back)
    result["size"] = sess.run(q.size())
    result["left"] = [sess.run(x) for _ in range(3)]
    result["empty_size"] = sess.run(q.size())
    sess.run(q.enqueue_many([[1.0, 2.0]]))
    result["closed_before"] = sess.run(q.is_closed())
    sess.run(q.close())
    result["closed_after"] = sess.run(q.is_closed())
    result["enqueue_closed"] = error_of(lambda: sess.run(q.enqueue(1.0)))
    result["drain"] = sess.run(q.dequeue_many(2))
    result["dequeue_closed"] = error_of(lambda: sess.run(x))
result["names"] = [q.name, x.name, back.name, init.name, q.size().name]
result["types"] = [q.queue_ref.op.type.rstrip("V2"), back.type.rstrip("V2"), init.type.rstrip("V2")]
result["shape"] = [shape_of(x), [t.name for t in q.dtypes]]
pair = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[2], []], names=["a", "b"], name="pair")
got = pair.dequeue()
many = pair.dequeue_many(2)
up_to = pair.dequeue_up_to(5)
with tf.Session() as sess:
    sess.run(pair.enqueue({"a": [1, 2], "b": "x"}))
    result["dict"] = sess.run(got)
    sess.run(pair.enqueue_many({"a": [[1, 2], [3, 4], [5, 6]], "b": ["x", "y", "z"]}))
    result["many"] = sess.run(many)
    sess.run(pair.close())
    result["up_to"] = sess.run(up_to)
result["many_shape"] = [shape_of(many["a"]), shape_of(up_to["a"])]
result["wrong_dtype"] = error_of(lambda: q.enqueue("a"))
result["wrong_shape"] = error_of(lambda: q.enqueue([[1.0, 2.0]]))
result["wrong_number"] = error_of(lambda: pair.enqueue({"a": [1, 2]}))
unshaped = tf.FIFOQueue(2, tf.float32)
result["many_unshaped"] = error_of(lambda: unshaped.dequeue_many(2))
result["unshaped"] = shape_of(unshaped.dequeue())
