# issue 16: names of 1.13 to 1.15 that were missing: text, windows, CTC, tapes, functions, files
t = tf.constant(["aé", "", "日本x"])
rows = lambda r: [r.flat_values, *r.nested_row_splits]
fetches = {
    "decode": rows(tf.strings.unicode_decode(t, "UTF-8")),
    "decode matrix": rows(tf.strings.unicode_decode([["a", "bc"], ["", "d"]], "UTF-8")),
    "encode": [tf.strings.unicode_encode(tf.strings.unicode_decode(t, "UTF-8"), "UTF-16-BE")],
    "encode matrix": [tf.strings.unicode_encode([[97, 98], [233, 120]], "UTF-8")],
    "split": rows(tf.strings.unicode_split(t, "UTF-8")),
    "split scalar": [tf.strings.unicode_split("aé", "UTF-8")],
    "offsets": [p for r in tf.strings.unicode_split_with_offsets(t, "UTF-8") for p in rows(r)],
    "bad": list(tf.strings.unicode_decode_with_offsets(b"a\xffb", "UTF-8", replacement_char=63)),
    "ignored": list(tf.strings.unicode_decode_with_offsets(b"a\xffb", "UTF-8", errors="ignore")),
    "kaiser": [tf.signal.kaiser_window(8), tf.signal.kaiser_window(5, 4.0)],
    "derived": [tf.signal.kaiser_bessel_derived_window(8)],
    "vorbis": [tf.signal.vorbis_window(8)],
    "collapse": list(tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 3])),
    "unique": list(tf.nn.ctc_unique_labels(tf.constant([[3, 4, 4, 3], [1, 1, 1, 1]]))),
    "silu": [tf.nn.silu(tf.constant([-1.0, 0.5]))],
    "average": [tf.nn.compute_average_loss(tf.constant([1.0, 2.0]), global_batch_size=4)],
    "weighted": [tf.nn.compute_average_loss(tf.constant([1.0, 2.0]), tf.constant([2.0, 1.0]))],
    "regularization": [tf.nn.scale_regularization_loss(tf.constant([1.0, 2.0]))],
    "monotonic": [tf.math.is_non_decreasing([1, 1]), tf.math.is_strictly_increasing([1, 1])],
}
signal = tf.constant(np.sin(np.arange(64.0)) + 0.1 * np.arange(64.0))
for norm in (None, "ortho"):
    spectrum = tf.signal.mdct(signal, 16, norm=norm)
    fetches[f"mdct {norm}"] = [spectrum, tf.signal.inverse_mdct(spectrum, norm=norm)]
    fetches[f"dct4 {norm}"] = [tf.signal.dct(signal, type=4, norm=norm)]
fetches["mdct plain"] = [tf.signal.mdct(signal, 8, window_fn=None, pad_end=True)]
logits = tf.constant(np.cos(np.arange(60.0)).reshape(5, 2, 6).astype(np.float32))
labels = tf.constant([[1, 2, 0], [3, 3, 4]])
loss = tf.nn.ctc_loss_v2(labels, logits, [2, 3], [5, 5])
fetches["ctc"] = [loss, tf.gradients(loss, logits)[0]]
sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 5, 0], [2, 2])
fetches["ctc sparse"] = [tf.nn.ctc_loss_v2(sparse, logits, None, [5, 5], blank_index=2)]
table = tf.get_variable("t", [2, 3], initializer=tf.zeros_initializer())
update = tf.batch_scatter_update(table, tf.constant([[0, 2], [1, 0]]), [[1.0, 2.0], [3.0, 4.0]])
fetches["batch scatter"] = [update]
fetches["map"] = [tf.vectorized_map(lambda x: x * 2.0, tf.constant([1.0, 2.0]))]

w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(w)
    y = tf.reduce_sum(w * w)
fetches["tape"] = [tape.gradient(y, {"w": w})["w"], tape.gradient(y, [w])[0]]


@tf.function
def step(x):
    w.assign_add([x, x])
    twice = w * 2.0
    w.assign_add([10.0, 10.0])
    return twice, w.read_value()


stepped = step(tf.constant(1.0))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for key, tensors in fetches.items():
        result[key] = session.run(tensors)
    result["function"] = list(session.run(stepped))
    result["function again"] = list(session.run(stepped))
result["ctc error"] = error_of(lambda: tf.nn.ctc_loss_v2(sparse, logits, None, [5, 5]))
result["mdct error"] = error_of(lambda: tf.signal.mdct(signal, 10))

files = tf.io.gfile
files.makedirs(tmp_dir + "/a/b")
with files.GFile(tmp_dir + "/a/f.txt", "w") as f:
    f.write("text")
files.copy(tmp_dir + "/a/f.txt", tmp_dir + "/a/g.txt")
result["copy over"] = error_of(lambda: files.copy(tmp_dir + "/a/f.txt", tmp_dir + "/a/g.txt"))
files.rename(tmp_dir + "/a/g.txt", tmp_dir + "/a/b/h.txt")
result["listdir"] = sorted(files.listdir(tmp_dir + "/a"))
result["glob"] = [p[len(tmp_dir) :] for p in files.glob([tmp_dir + "/a/*.txt", tmp_dir + "/a/b/*"])]
result["isdir"] = [files.isdir(tmp_dir + "/a"), files.isdir(tmp_dir + "/a/f.txt")]
result["stat"] = files.stat(tmp_dir + "/a/f.txt").length
result["walk"] = [[p[len(tmp_dir) :], d, f] for p, d, f in files.walk(tmp_dir + "/a")]
files.remove(tmp_dir + "/a/f.txt")
files.rmtree(tmp_dir + "/a")
result["exists"] = files.exists(tmp_dir + "/a")
result["remove"] = error_of(lambda: files.remove(tmp_dir + "/none"))

constants = {}
for name in dir(tf.saved_model):
    value = getattr(tf.saved_model, name)
    if name.isupper() and isinstance(value, (str, int)):
        constants[name] = value
result["saved model"] = {k: v for k, v in constants.items() if k not in ("EVAL",)}
x = tf.placeholder(tf.float32, [1])
good = tf.saved_model.predict_signature_def({"x": x}, {"y": x})
result["valid"] = [
    tf.saved_model.is_valid_signature(good),
    tf.saved_model.is_valid_signature(tf.saved_model.build_signature_def({}, {}, "m")),
]
shape = tf.TensorShape([2, None])
result["dimensions"] = [
    tf.dimension_at_index(shape, 0).value,
    tf.dimension_at_index(shape, 1).value,
    tf.dimension_at_index(tf.TensorShape(None), 1).value,
    tf.compat.dimension_value(shape[0]),
]
result["quantized"] = sorted(d.name for d in tf.QUANTIZED_DTYPES)
result["logger"] = tf.get_logger().name


class MyModule(tf.Module):
    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.identity(x, name="i")


first, second, own = MyModule(), MyModule(), MyModule("own")
result["modules"] = [first.name, second.name, own.name]
result["scopes"] = [first(1).name, first(1).name, second(1).name, own(1).name]
with first.name_scope:
    result["in_scope"] = tf.constant(1, name="c").name
with tf.name_scope("a"):
    result["inner_module"] = [MyModule().name, MyModule()(1).name]
result["bad_module"] = error_of(lambda: MyModule("a/b"))
