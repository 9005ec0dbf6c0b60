# issue 16: mistakes in eager code are the errors that programs of TensorFlow's time catch
"""Mistakes with tapes, optimizers, datasets, functions, layers and checkpoints in eager code."""

import os
import tempfile

tf.enable_eager_execution()
C = tf.constant


def z(*shape, **kwargs):
    return tf.zeros(list(shape), **kwargs)


def mistake(function):
    result[function.__name__] = error_of(function)


@mistake
def tape_twice():
    x = C(1.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = x * x
    t.gradient(y, x)
    t.gradient(y, x)


@mistake
def tape_watch():
    with tf.GradientTape() as t:
        t.watch(np.float32(1))


@mistake
def tape_watch_none():
    with tf.GradientTape() as t:
        t.watch(None)


@mistake
def tape_enter():
    t = tf.GradientTape()
    with t:
        with t:
            pass


@mistake
def tape_outgrad():
    x = C([1.0, 2.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y = x * x
    t.gradient(y, x, output_gradients=C([1.0, 2.0, 3.0]))


@mistake
def tape_stop():
    t = tf.GradientTape()
    with t.stop_recording():
        pass


@mistake
def tape_jac():
    x = C([1.0, 2.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y = x * x
    t.batch_jacobian(y, x)


@mistake
def tape_bjac():
    x = z(2, 3)
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.reduce_sum(x, 0, keepdims=True)
    t.batch_jacobian(y, x)


@mistake
def apply_none():
    tf.train.GradientDescentOptimizer(0.1).apply_gradients([(None, tf.Variable(1.0))])


@mistake
def apply_empty():
    tf.train.GradientDescentOptimizer(0.1).apply_gradients([])


@mistake
def apply_shape():
    tf.train.GradientDescentOptimizer(0.1).apply_gradients([(z(3), tf.Variable([1.0, 2.0]))])


@mistake
def adam_shape():
    tf.train.AdamOptimizer(0.1).apply_gradients([(z(3), tf.Variable([1.0, 2.0]))])


@mistake
def minimize_tensor():
    tf.train.GradientDescentOptimizer(0.1).minimize(C(1.0))


@mistake
def kopt_shape():
    tf.keras.optimizers.SGD(0.1).apply_gradients([(z(3), tf.Variable([1.0, 2.0]))])


@mistake
def custom_grad():
    @tf.custom_gradient
    def f(x):
        return x * 2.0, lambda dy: (dy, dy)

    x = C(1.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = f(x)
    t.gradient(y, x)


@mistake
def ds_end():
    it = iter(tf.data.Dataset.range(1))
    next(it)
    next(it)


@mistake
def ds_get_next():
    it = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(1))
    it.get_next()
    it.get_next()


@mistake
def ds_initializable():
    tf.compat.v1.data.make_initializable_iterator(tf.data.Dataset.range(1))


@mistake
def ds_sizes():
    tf.data.Dataset.from_tensor_slices((np.zeros(3), np.zeros(4)))


@mistake
def ds_scalar():
    tf.data.Dataset.from_tensor_slices(C(1))


@mistake
def ds_batch_ragged():
    list(tf.data.Dataset.from_generator(lambda: iter([[1], [1, 2]]), tf.int32).batch(2))


@mistake
def ds_batch0():
    list(tf.data.Dataset.range(3).batch(0))


@mistake
def ds_gen_type():
    list(tf.data.Dataset.from_generator(lambda: iter(["a"]), tf.int32))


@mistake
def ds_gen_shape():
    list(tf.data.Dataset.from_generator(lambda: iter([[1, 2]]), tf.int32, [3]))


@mistake
def ds_gen_raise():
    def g():
        yield 1
        raise KeyError("x")

    list(tf.data.Dataset.from_generator(g, tf.int32))


@mistake
def ds_map_err():
    list(tf.data.Dataset.range(3).map(lambda x: tf.gather([1.0, 2.0], x)))


@mistake
def ds_map_shape():
    list(
        tf.data.Dataset.from_tensor_slices(np.zeros((2, 3), "f")).map(lambda x: tf.reshape(x, [2]))
    )


@mistake
def ds_map_pyfunc():
    list(tf.data.Dataset.range(3).map(lambda x: tf.py_func(lambda v: 1 / 0, [x], tf.int64)))


@mistake
def ds_map_args():
    list(tf.data.Dataset.range(3).map(lambda x, y: x))


@mistake
def ds_shuffle0():
    list(tf.data.Dataset.range(3).shuffle(0))


@mistake
def ds_filter():
    list(tf.data.Dataset.range(3).filter(lambda x: x))


@mistake
def ds_padded():
    list(tf.data.Dataset.from_tensors([1, 2, 3]).padded_batch(1, [2]))


@mistake
def ds_tfrecord():
    list(tf.data.TFRecordDataset("/nonexistent"))


@mistake
def ds_tfrecord_bad():
    p = os.path.join(tmp_dir, "file")
    with open(p, "wb") as f:
        f.write(b"x" * 40)
    list(tf.data.TFRecordDataset(p))


@mistake
def ds_text():
    list(tf.data.TextLineDataset("/nonexistent"))


@mistake
def ds_csv():
    p = os.path.join(tmp_dir, "file")
    with open(p, "w") as f:
        f.write("a,b\n")
    list(tf.data.experimental.CsvDataset(p, [tf.int32, tf.int32]))


@mistake
def ds_parse():
    list(
        tf.data.Dataset.from_tensors("junk").map(
            lambda s: tf.parse_single_example(s, {"a": tf.FixedLenFeature([], tf.int64)})
        )
    )


@mistake
def fn_sig_num():
    tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])(z(2), z(2))


@mistake
def fn_shape():
    tf.function(lambda a, b: tf.matmul(a, b))(z(2, 3), z(2, 3))


@mistake
def fn_run():
    tf.function(lambda a, i: tf.gather(a, i))(z(3), C([7]))


@mistake
def fn_raise():
    @tf.function
    def f():
        raise KeyError("a")

    f()


@mistake
def fn_assert():
    @tf.function
    def f(x):
        tf.debugging.assert_equal(x, 1)
        return x

    f(C(2))


@mistake
def layer_rank():
    tf.keras.layers.Dense(2)(z(3))


@mistake
def layer_conv_rank():
    tf.keras.layers.Conv2D(2, 3)(z(2, 2, 1))


@mistake
def layer_lstm():
    tf.keras.layers.LSTM(2)(z(2, 2))


@mistake
def layer_emb():
    tf.keras.layers.Embedding(3, 2)(C([5]))


@mistake
def layer_concat():
    tf.keras.layers.Concatenate()([z(1, 2), z(2, 2)])


@mistake
def layer_add():
    tf.keras.layers.Add()([z(1, 2), z(1, 3)])


@mistake
def model_notcompiled():
    tf.keras.Sequential([tf.keras.layers.Dense(2)]).fit(np.zeros((2, 2)), np.zeros((2, 2)))


@mistake
def model_fit_sizes():
    m = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    m.compile("sgd", "mse")
    m.fit(np.zeros((3, 2)), np.zeros((2, 2)), verbose=0)


@mistake
def model_label():
    m = tf.keras.Sequential([tf.keras.layers.Dense(2, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    m.fit(np.zeros((3, 2)), np.array([0, 1, 7]), verbose=0)


@mistake
def model_call():
    class A(tf.keras.Model):
        def call(self, x):
            return tf.matmul(x, z(7, 7))

    A()(z(2, 2))


@mistake
def keras_set_weights2():
    l = tf.keras.layers.Dense(2)
    l(z(1, 3))
    l.set_weights([np.zeros((4, 2)), np.zeros(2)])


@mistake
def load_weights():
    tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(2,))]).load_weights(
        "/nonexistent/w.h5"
    )


@mistake
def ckpt_consumed():
    d = tempfile.mkdtemp(dir=tmp_dir)
    p = tf.train.Checkpoint(v=tf.Variable(1.0)).save(d + "/a")
    tf.train.Checkpoint(w=tf.Variable(1.0)).restore(p).assert_consumed()


@mistake
def ckpt_shape():
    d = tempfile.mkdtemp(dir=tmp_dir)
    p = tf.train.Checkpoint(v=tf.Variable(1.0)).save(d + "/a")
    tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).restore(p)


@mistake
def tarray():
    tf.TensorArray(tf.float32, 2).read(5)


@mistake
def tarray_dtype():
    tf.TensorArray(tf.float32, 2).write(0, C(1))


@mistake
def tarray_stack():
    ta = tf.TensorArray(tf.float32, 2)
    ta = ta.write(0, z(2))
    ta = ta.write(1, z(3))
    ta.stack()


@mistake
def tarray_neg():
    tf.TensorArray(tf.float32, 2).write(-1, 1.0)
