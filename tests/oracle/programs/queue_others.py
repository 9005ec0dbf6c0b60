# issue 3: shuffling, padding and priority queues
shuffle = tf.RandomShuffleQueue(20, 0, tf.int32, shapes=[[]], seed=1)
padding = tf.PaddingFIFOQueue(5, [tf.int32], shapes=[[None]])
priority = tf.PriorityQueue(5, [tf.string], [[]])
with tf.Session() as sess:
    sess.run(shuffle.enqueue_many([list(range(15))]))
    drawn = sess.run(shuffle.dequeue_many(15))
    result["shuffle_all"] = np.sort(drawn)
    result["shuffle_order"] = bool((drawn != np.arange(15)).any())
    for row in ([1], [2, 3, 4], [5, 6]):
        sess.run(padding.enqueue([row]))
    result["padded"] = sess.run(padding.dequeue_many(3))
    for key, value in ((5, "five"), (1, "one"), (3, "three")):
        sess.run(priority.enqueue([np.int64(key), value]))
    result["priority"] = [sess.run(priority.dequeue()) for _ in range(3)]
    a = tf.FIFOQueue(3, tf.float32, name="a")
    b = tf.FIFOQueue(3, tf.float32, name="b")
    which = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(which, [a, b])
    sess.run([a.enqueue(1.0), b.enqueue(2.0)])
    result["chosen"] = sess.run(chosen.dequeue(), {which: 1})
    minimum = tf.RandomShuffleQueue(10, 3, tf.float32, shapes=[[]], name="minimum")
    sess.run(minimum.enqueue_many([[1.0, 2.0]]))
    sess.run(minimum.close())
    result["after_close"] = np.sort(sess.run(minimum.dequeue_many(2)))
