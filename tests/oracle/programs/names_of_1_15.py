# issue 16: names of 1.13 to 1.15: dense tables, fractional pooling, fake quantization, raw ops, dtypes
t = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
insert = t.insert([1, 2, 3], [10, 20, 30])
with tf.control_dependencies([insert]):
    found = t.lookup(tf.constant([1, 9], tf.int64))
words = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, [0, 0], "", "$")
with tf.control_dependencies([words.insert(["x"], [[1, 2]])]):
    row = words.lookup(tf.constant(["x", "y"]))
with tf.Session() as session:
    result["dense"] = session.run([found, row])
    session.run(t.remove(tf.constant([2], tf.int64)))
    result["dense size"] = session.run(t.size())
    one = lambda n: tf.constant([n], tf.int64)
    for key, make in {
        "find empty": lambda: t.lookup(one(0)),
        "find deleted": lambda: t.lookup(one(-1)),
        "insert deleted": lambda: t.insert([-1], [1]),
        "remove empty": lambda: t.remove(one(0)),
    }.items():
        op = make()
        result[key] = error_of(lambda op=op: session.run(op))

x = tf.constant(np.sin(np.arange(24.0, dtype=np.float32)).reshape(1, 4, 6, 1))
with tf.Session() as session:
    for name in ("max", "avg"):
        pool = getattr(tf.nn, f"fractional_{name}_pool")
        pooled, rows, columns = pool(x, [1.0, 2.0, 3.0, 1.0], overlapping=True)
        result[f"{name} pool"] = session.run([pooled, tf.gradients(pooled, x)[0]])
        result[f"{name} rows"] = session.run([rows, columns])
        for pseudo in (False, True):
            y, rows, _ = pool(x, [1.0, 1.4, 1.5, 1.0], pseudo, deterministic=True, seed=3, seed2=4)
            first, again = session.run(rows), session.run(rows)
            result[f"{name} drawn {pseudo}"] = [int(first[0]), int(first[-1]), shape_of(y)]
            result[f"{name} sizes {pseudo}"] = bool(set(np.diff(first)) <= {1, 2, 3})
            result[f"{name} same {pseudo}"] = first.tolist() == again.tolist()
    seeded = tf.nn.fractional_max_pool(x, [1.0, 1.5, 1.5, 1.0], seed=3)[0]
    result["seed alone"] = error_of(lambda: session.run(seeded))
    grid = tf.constant(np.cos(np.arange(12.0, dtype=np.float32)).reshape(4, 3) * 3)
    quantized = tf.quantization.fake_quant_with_min_max_vars_per_channel(
        grid, [-1.0, -2.0, 0.0], [1.0, 0.5, 3.0], num_bits=4
    )
    result["per channel"] = session.run([quantized, tf.gradients(quantized, grid)[0]])
    rounded = tf.quantization.quantize_and_dequantize(grid, -1.0, 1.0, range_given=True, num_bits=3)
    result["rounded"] = session.run([rounded, tf.gradients(rounded, grid)[0]])
    pixels = tf.constant(np.tile(np.arange(16, dtype=np.uint8)[:, None, None] * 9, [1, 16, 3]))
    saved = tf.image.random_jpeg_quality(pixels, 75, 95, seed=1)
    result["jpeg"] = [shape_of(saved), saved.dtype.name, bool(np.ptp(session.run(saved)) > 100)]
    result["jpeg gray"] = shape_of(tf.image.adjust_jpeg_quality(pixels[:, :, :1], 50))
    raw = tf.raw_ops
    result["raw"] = session.run(
        [
            raw.Sum(input=grid, axis=[0], keep_dims=True),
            raw.Where(condition=[True, False, True]),
            raw.Select(condition=True, x=1, y=2),
            raw.ExpandDims(input=grid, axis=1),
            raw.Squeeze(input=[[[1.0]]], axis=[0]),
            raw.Split(axis=0, value=grid, num_split=2)[1],
            raw.Any(input=[[True, False]], axis=1),
        ]
    )
    result["raw positions"] = error_of(lambda: raw.Add(1, 2))
    result["dtypes"] = session.run(
        [
            tf.dtypes.cast([1.5], tf.dtypes.int32),
            tf.dtypes.as_string([1]),
            tf.dtypes.complex(1.0, 2.0),
            tf.dtypes.saturate_cast(300, tf.uint8),
        ]
    )
result["bool"] = tf.dtypes.bool.name
quality = tf.image.random_jpeg_quality
result["jpeg order"] = error_of(lambda: quality(pixels, 90, 80))
result["jpeg range"] = error_of(lambda: quality(pixels, -1, 80))

for name, text in (("old", "a\nb\nc\n"), ("new", "c\nx\na\nunused\n")):
    with open(f"{tmp_dir}/{name}.txt", "w") as file:
        file.write(text)
with tf.Graph().as_default(), tf.Session() as session:
    rows = tf.get_variable("rows", initializer=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    session.run(tf.global_variables_initializer())
    prefix = tf.train.Saver([rows]).save(session, tmp_dir + "/model")
with tf.Graph().as_default(), tf.Session() as session:
    rows = tf.get_variable("rows", [4, 2])
    info = tf.train.VocabInfo(tmp_dir + "/new.txt", 3, 1, tmp_dir + "/old.txt", 3)
    tf.train.warm_start(prefix, var_name_to_vocab_info={"rows": info})
    session.run(tf.global_variables_initializer())
    result["words"] = session.run(rows)
