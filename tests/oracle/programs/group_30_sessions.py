# issue 16: feeds, fetches, callables and configurations of sessions
"""Group 30: sessions: names in bytes, callables with options, handles, configurations, targets."""

a, b = tf.placeholder(tf.float32, [], name="a"), tf.placeholder(tf.float32, [], name="b")
total = tf.add(a, b, name="total")
with tf.Session() as sess:
    call = sess.make_callable(total, [a, b], accept_options=True)
    result["with_options"] = call(1.0, 2.0, options=tf.RunOptions(), run_metadata=tf.RunMetadata())
    result["bytes_name"] = sess.run(b"total:0", {a: 1.0, b: 2.0})
    result["nested"] = sess.run(total, {(a, b): (3.0, 4.0)})
    handle = sess.run(tf.get_session_handle(tf.constant(5.0)))
    result["handle"] = sess.run(total, {a: handle, b: 1.0})
    result["partial_unknown"] = error_of(lambda: sess.partial_run("nothing", total, {a: 1.0}))
    started = sess.partial_run_setup([total], [a, b])
    result["partial_early"] = error_of(lambda: sess.partial_run(started, total, {a: 1.0}))
    result["number_fetch"] = error_of(lambda: sess.run(3))
    result["none_fetch"] = error_of(lambda: sess.run(None))
    result["wrong_shape"] = error_of(lambda: sess.run(total, {a: [1.0], b: 2.0}))
    result["missing_feed"] = error_of(lambda: sess.run(total, {a: 1.0}))
    result["pair_of_one"] = error_of(lambda: sess.run(total, {(a, b): 1.0}))
config = tf.ConfigProto(experimental=tf.ConfigProto.Experimental(collective_group_leader="x"))
config.session_inter_op_thread_pool.add(num_threads=1)
config.gpu_options.experimental.use_unified_memory = True
result["config"] = [
    config.experimental.collective_group_leader,
    config.session_inter_op_thread_pool[0].num_threads,
    tf.GPUOptions.Experimental().num_dev_to_dev_copy_streams,
    tf.RunOptions().experimental.use_run_handler_pool,
]
with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
    result["devices"] = [d.device_type for d in sess.list_devices() if "XLA" not in d.device_type]
for target in ("INVALID_TARGET", "INVALID://x:1", "local"):
    result[f"target_{target}"] = error_of(lambda: tf.Session(target))
with tf.Graph().as_default():
    with tf.device("/job:other/task:3"):
        elsewhere = tf.constant(1.0)
    with tf.Session() as sess:
        result["elsewhere"] = error_of(lambda: sess.run(elsewhere))
closed = tf.Session()
closed.close()
result["closed"] = error_of(lambda: closed.run(total, {a: 1.0, b: 2.0}))

import collections
import warnings

with tf.Graph().as_default(), tf.Session() as sess:
    a = tf.constant(1.0)
    made = sess.run(collections.defaultdict(list, {"a": a}))
    result["defaultdict"] = [type(made).__name__, dict(made), made["missing"]]
    fed, other, more = (tf.placeholder(tf.float32, []) for _ in range(3))
    first = fed + other
    second = first * more

    def partial(*fetches_and_feeds):
        handle = sess.partial_run_setup([first, second], [fed, other, more])
        for fetches, feeds in fetches_and_feeds:
            sess.partial_run(handle, fetches, feeds)

    start = (first, {fed: 1.0, other: 2.0})
    result["partial_twice"] = error_of(lambda: partial(start, start))
    metadata = tf.RunMetadata()
    sess.run(a + 1.0, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    result["partitions"] = len(metadata.partition_graphs)
    result["group_of_text"] = error_of(lambda: tf.group("a"))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    one = tf.InteractiveSession()
    two = tf.InteractiveSession()
result["interactive"] = [str(w.message)[:40] for w in caught if "active" in str(w.message)]
two.close()
one.close()
