# issue 3: whole files, fixed-length records, decode_csv and decode_raw
import os

for name in ("a", "b"):
    with open(os.path.join(tmp_dir, name + ".txt"), "w") as f:
        f.write(name * 3)
matching = tf.train.match_filenames_once(os.path.join(tmp_dir, "*.txt"))
queue = tf.train.string_input_producer(matching, shuffle=False, num_epochs=1)
key, value = tf.WholeFileReader().read(queue)
with open(os.path.join(tmp_dir, "records.bin"), "wb") as f:
    f.write(b"HEAD" + bytes(range(12)) + b"FT")
fixed_queue = tf.train.string_input_producer([os.path.join(tmp_dir, "records.bin")], shuffle=False)
_, record = tf.FixedLengthRecordReader(record_bytes=4, header_bytes=4, footer_bytes=2).read(
    fixed_queue
)
decoded = tf.decode_raw(record, tf.uint8)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    result["whole"] = sorted([sess.run(value) for _ in range(2)])
    result["whole_end"] = error_of(lambda: sess.run(value))
    result["fixed"] = [sess.run(decoded) for _ in range(3)]
    coord.request_stop()
    coord.join(threads)
    result["read_file"] = sess.run(tf.read_file(os.path.join(tmp_dir, "a.txt")))
    sess.run(tf.write_file(os.path.join(tmp_dir, "c.txt"), "written"))
    result["written"] = open(os.path.join(tmp_dir, "c.txt")).read()
    result["matching"] = [
        os.path.basename(n)
        for n in sess.run(tf.matching_files(os.path.join(tmp_dir, "*.txt"))).tolist()
    ]
    csv = tf.decode_csv(['1,2.5,"a, b"', "4,,c"], [[0], [9.0], [""]])
    result["csv"] = sess.run(csv)
    result["csv_options"] = sess.run(
        tf.decode_csv(
            ["1;x;3"], [[0], [""], [0]], field_delim=";", select_cols=[0, 2][:2] if False else None
        )
    )
    result["csv_na"] = sess.run(tf.decode_csv(["NA,2"], [[5], [0]], na_value="NA"))
    result["csv_required"] = error_of(
        lambda: sess.run(tf.decode_csv([",2"], [tf.constant([], tf.int32), [0]]))
    )
    result["csv_fields"] = error_of(lambda: sess.run(tf.decode_csv(["1,2,3"], [[0], [0]])))
    result["csv_number"] = error_of(lambda: sess.run(tf.decode_csv(["x,2"], [[0], [0]])))
    result["raw_size"] = error_of(lambda: sess.run(tf.decode_raw(["abc"], tf.int16)))
result["names"] = [key.name, value.name, decoded.name]
