# issue 3: queue-era readers of text
import os

for number in range(2):
    with open(os.path.join(tmp_dir, f"part{number}.csv"), "w") as f:
        for row in range(3):
            f.write(f"{number * 3 + row},{row * 0.5},name{row}\n")
files = tf.train.string_input_producer(
    [os.path.join(tmp_dir, f"part{n}.csv") for n in range(2)], shuffle=False, num_epochs=1
)
reader = tf.TextLineReader()
key, value = reader.read(files)
index, number, name = tf.decode_csv(value, record_defaults=[[0], [0.0], [""]])
batch = tf.train.batch([index, number, name], batch_size=4, allow_smaller_final_batch=True)
result["static"] = [shape_of(t) for t in (key, value, index, batch[0])]
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    got = []
    try:
        while not coord.should_stop():
            got.append(sess.run(batch))
    except tf.errors.OutOfRangeError:
        result["ended"] = True
    finally:
        coord.request_stop()
    coord.join(threads)
    result["batches"] = got
    result["records"] = sess.run(reader.num_records_produced())
    result["units"] = sess.run(reader.num_work_units_completed())
tf.reset_default_graph()
queue = tf.train.string_input_producer([os.path.join(tmp_dir, "part1.csv")], shuffle=False)
skipping = tf.TextLineReader(skip_header_lines=1)
key, value = skipping.read(queue)
several = tf.TextLineReader().read_up_to(queue, 2)
with tf.Session() as sess:
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    k, v = sess.run([key, value])
    result["first"] = [k.decode().split("/")[-1], v]
    result["up_to"] = sess.run(several)[1]
    coord.request_stop()
    coord.join(threads)
