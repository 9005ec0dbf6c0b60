# issue 16: variables, optimizers, data sets and checkpoints of eager execution
"""Eager execution: variables, optimizers, datasets, layers, checkpoints."""

import os

tf.enable_eager_execution()

v = tf.Variable([1.0, 2.0, 3.0], name="w")
v.assign_add([1.0, 1.0, 1.0])
v[1].assign(9.0)
result["variable"] = [v.name, v.numpy(), (v * 2).numpy(), tf.gather(v, [2, 0]).numpy()]
result["names"] = [tf.Variable(1.0).name, tf.get_variable("k", [2]).name]
with tf.variable_scope("s"):
    a, b = tf.get_variable("k", [2]), tf.get_variable("k", [2])
    result["scoped"] = [a.name, b.name, a is b]

features = np.random.RandomState(0).randn(40, 2).astype(np.float32)
targets = features @ np.array([[3.0], [-1.0]], np.float32)
for make in (
    lambda: tf.train.GradientDescentOptimizer(0.1),
    lambda: tf.train.MomentumOptimizer(0.05, 0.9),
    lambda: tf.train.AdamOptimizer(0.1),
    lambda: tf.train.RMSPropOptimizer(0.05),
    lambda: tf.train.AdagradOptimizer(0.5),
    lambda: tf.train.FtrlOptimizer(0.5),
):
    w = tf.Variable([[1.0], [2.0]])
    optimizer = make()
    for _ in range(10):
        optimizer.minimize(lambda: tf.reduce_mean(tf.square(tf.matmul(features, w) - targets)))
    result[type(optimizer).__name__] = w.numpy()

step = tf.train.get_or_create_global_step()
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.nn.embedding_lookup(w, [1, 1]))
grads = tape.gradient(loss, [w])
tf.train.GradientDescentOptimizer(1.0).apply_gradients(zip(grads, [w]), global_step=step)
result["step"] = [type(grads[0]).__name__, step.numpy()]

dataset = tf.data.Dataset.from_tensor_slices((np.arange(5.0), np.arange(5)))
dataset = dataset.map(lambda a, b: (a * 2, {"b": b})).batch(2)
result["elements"] = [[x.numpy(), y["b"].numpy()] for x, y in dataset]
iterator = dataset.make_one_shot_iterator()
result["first"] = iterator.get_next()[0].numpy()
result["at_the_end"] = error_of(lambda: [iterator.get_next() for _ in range(5)])

saved = tf.train.Checkpoint(v=v, optimizer=optimizer)
path = saved.save(os.path.join(tmp_dir, "ck"))
v.assign([0.0, 0.0, 0.0])
saved.restore(path)
result["restored"] = [os.path.basename(path), v.numpy()]
result["function"] = tf.function(lambda a: a + v[0])(tf.constant(1.0)).numpy()
