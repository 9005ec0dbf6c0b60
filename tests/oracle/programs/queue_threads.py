# issue 3: queue runners, coordinators and blocked ops
import threading

q = tf.FIFOQueue(4, tf.int32, shapes=[[]])
counter = tf.Variable(0, name="counter")
with tf.control_dependencies([tf.assign_add(counter, 1, name="count")]):
    enqueue = q.enqueue(counter.read_value())
runner = tf.train.QueueRunner(q, [enqueue])
tf.train.add_queue_runner(runner)
out = q.dequeue()
result["collection"] = len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    drawn = [int(sess.run(out)) for _ in range(6)]
    result["values"] = [len(drawn), drawn == sorted(drawn), drawn[0] >= 1]
    coord.request_stop()
    coord.join(threads)
    result["stopped"] = coord.should_stop()
blocked = tf.FIFOQueue(1, tf.float32, shapes=[[]])
take = blocked.dequeue()
with tf.Session() as sess:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(sess.run(take)))
    thread.start()
    sess.run(blocked.enqueue(7.0))
    thread.join(20)
    result["woken"] = list(seen)
    failures = []
    thread = threading.Thread(target=lambda: failures.append(error_of(lambda: sess.run(take))))
    thread.start()
    sess.run(blocked.close(cancel_pending_enqueues=True))
    thread.join(20)
    result["closed"] = list(failures)
    full = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    second = full.enqueue(2.0)
    sess.run(full.enqueue(1.0))
    thread = threading.Thread(target=lambda: failures.append(error_of(lambda: sess.run(second))))
    thread.start()
    import time

    time.sleep(0.3)
    sess.run(full.close(cancel_pending_enqueues=True))
    thread.join(20)
    result["cancelled"] = failures[1:]
    timed = tf.RunOptions(timeout_in_ms=200)
    hungry = tf.FIFOQueue(1, tf.float32).dequeue()
    result["deadline"] = error_of(lambda: sess.run(hungry, options=timed))
coord = tf.train.Coordinator()


def failing():
    with coord.stop_on_exception():
        raise ValueError("from a thread")


thread = threading.Thread(target=failing)
thread.start()
result["raised_at_join"] = error_of(lambda: coord.join([thread]))
lone = tf.train.Coordinator()
result["wait"] = lone.wait_for_stop(timeout=0.01)
many = tf.Variable(0)
increment = tf.assign_add(many, 1, use_locking=True)
with tf.Session() as sess:
    sess.run(many.initializer)
    workers = [
        threading.Thread(target=lambda: [sess.run(increment) for _ in range(20)]) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    result["concurrent"] = sess.run(many)
