# issue 16: one step whose ops wait for each other, or fail beside one that waits; time-outs
"""Group 13: one run whose ops wait for each other; time-outs."""

import threading

queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
dequeued, enqueued = queue.dequeue(), queue.enqueue(33)
x = tf.placeholder(tf.float32, [None])
failing = tf.check_numerics(tf.log(x), "message")
small = tf.FIFOQueue(2, tf.int32, shapes=[[]])
many, all_of_them = small.enqueue_many([[1, 2, 3, 4, 5]]), small.dequeue_many(5)
first, second = (tf.FIFOQueue(1, tf.float32, shapes=[[]]) for _ in range(2))
chain = [second.dequeue() + 1.0, second.enqueue(first.dequeue() * 2.0), first.enqueue(5.0)]
events = [threading.Event(), threading.Event()]


def function(own):
    def body():
        events[own].set()
        events[1 - own].wait()
        return float(own)

    return body


functions = [tf.py_func(function(i), [], tf.double) for i in range(2)]
closing = tf.FIFOQueue(3, tf.int32, shapes=[[]])
closed = [closing.dequeue(), closing.close()]
with tf.Session() as sess:
    for i in range(4):
        result[f"dequeue_first_{i}"] = sess.run([dequeued, enqueued])[0]
        result[f"enqueue_first_{i}"] = sess.run([enqueued, dequeued])[1]
        result[f"failing_{i}"] = error_of(lambda: sess.run([dequeued, failing], {x: [-1.0]}))
        result[f"more_than_fits_{i}"] = sess.run([many, all_of_them])[1]
        result[f"chain_{i}"] = sess.run(chain)[0]
        for event in events:
            event.clear()
        result[f"functions_{i}"] = sess.run(functions)
    result["closed"] = error_of(lambda: sess.run(closed))
    result["run_options"] = error_of(
        lambda: sess.run(dequeued, options=tf.RunOptions(timeout_in_ms=50))
    )
with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as sess:
    result["timeout"] = error_of(lambda: sess.run(dequeued))
    sess.run(enqueued)
    result["after_timeout"] = sess.run(dequeued)
