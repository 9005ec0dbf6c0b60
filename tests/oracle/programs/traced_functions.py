# issue 16: tf.function in eager code: retracing, effects, tapes, loops, Keras models and data sets inside
"""`tf.function` with eager execution: when it traces, what it does in which order, and its gradients."""

tf.enable_eager_execution()


def traces(*calls):
    """How often a function is traced by these calls, each a tuple of arguments or a dict of keywords."""
    count = []

    @tf.function
    def counted(*args, **kwargs):
        count.append(1)
        return tf.constant(0)

    for call in calls:
        counted(**call) if isinstance(call, dict) else counted(*call)
    return len(count)


c = tf.constant
first, second = object(), object()
v, w = tf.Variable(1.0), tf.Variable(2.0)
result["traces"] = [
    traces((c(1.0),), (c(2.0),)),
    traces((c(1.0),), (c([2.0]),), (c(2),)),
    traces((1,), (1,), (2,)),
    traces((1,), (1.0,), (True,)),
    traces((np.array([1, 2]),), (np.array([3, 4]),)),
    traces(({"a": c(1.0)},), ({"a": c(2.0)},), ({"b": c(2.0)},)),
    traces(([1, 2],), ((1, 2),), ([1, 2],)),
    traces((first,), (second,), (first,)),
    traces(("a",), ("b",), (None,), ("a",)),
    traces({"x": 1}, {"x": 1}, {"x": 2}),
    traces((tf.float32,), (tf.float32,), (tf.int32,)),
]


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def doubled(x):
    result.setdefault("shapes", []).append(x.shape.as_list())
    return x * 2.0


result["signature"] = [
    doubled(c([1.0])).numpy(),
    doubled(x=c([1.0, 2.0])).numpy(),
    doubled([3.0]).numpy(),
]
result["unfitting"] = [
    error_of(lambda: doubled(c([1.0]), True)),
    error_of(lambda: tf.function(lambda x: x, input_signature=3)),
]

made = []


@tf.function
def scaled(x):
    if not made:
        made.append(tf.Variable(x * 2.0))
    return x * made[0]


result["variables"] = [scaled(c(2.0)).numpy(), scaled(c(3.0)).numpy()]
result["again"] = error_of(lambda: tf.function(lambda x: x * tf.Variable(3.0))(c(1.0)))


@tf.function
def ordered(x):
    before = v.read_value()
    v.assign(5.0)
    if x > 0.0:
        v.assign_add(10.0)
    between = v * 1.0
    for i in tf.range(3):
        v.assign_add(tf.cast(i, tf.float32))
    return {"before": before, "rest": [between, None, (v, "text")]}


def values(structure):
    return [None if t is None else t.numpy() for t in tf.nest.flatten(structure)]


result["order"] = [values(ordered(c(1.0))), values(ordered(c(-1.0))), v.numpy()]


@tf.function
def cubed(x):
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = x**3 + w * x
    return y, inner.gradient(y, x)


x = c(3.0)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    y, slope = cubed(x)
result["slopes"] = [g.numpy() for g in (y, slope, tape.gradient(y, x), tape.gradient(slope, x))]
result["of the variable"] = [tape.gradient(y, w).numpy(), tape.gradient(slope, w).numpy()]


@tf.function
def partly():
    a = w * w
    with tf.GradientTape() as tape:
        y = a * w
        with tape.stop_recording():
            y += w
        z = y + w
    with tf.GradientTape() as unwatched:
        t = x * x
    return tape.gradient(z, w), unwatched.gradient(t, x)


result["partly"] = values(partly())


@tf.function
def powers(x, n):
    y = x
    for _ in tf.range(n):
        y = y * x
    if y > 3.0:
        y = y * 2.0
    return y


with tf.GradientTape() as tape:
    tape.watch(x)
    y = powers(x, c(3))
result["loops"] = [y.numpy(), tape.gradient(y, x).numpy()]

dense = tf.keras.layers.Dense(
    2, kernel_initializer="ones", kernel_regularizer=tf.keras.regularizers.l2(0.1)
)
norm = tf.keras.layers.BatchNormalization(momentum=0.5)
model = tf.keras.Sequential([dense, norm])
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.5)
mean, accuracy = tf.keras.metrics.Mean(), tf.keras.metrics.SparseCategoricalAccuracy()
steps = []


@tf.function
def train_step(images, labels):
    steps.append(images.shape.as_list())
    with tf.GradientTape() as tape:
        scores = model(images, training=True)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        )
        loss += tf.add_n(model.losses)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    mean(loss)
    accuracy(labels, scores)


images = np.random.RandomState(0).randn(10, 3).astype(np.float32)
batches = tf.data.Dataset.from_tensor_slices((images, np.arange(10) % 2)).batch(4)
for _ in range(2):
    for batch in batches:
        train_step(*batch)
    result.setdefault("epochs", []).append([mean.result().numpy(), accuracy.result().numpy()])
    mean.reset_states()
    accuracy.reset_states()
result["shapes of steps"] = steps
result["weights"] = [np.round(t.numpy(), 4) for t in model.weights]


@tf.function
def epoch(data):
    total = 0.0
    for images, _ in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(w * images)
        tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tape.gradient(loss, w), w)])
        total += loss
        if total > 100.0:
            break
    return total


result["data set in the loop"] = [epoch(batches).numpy(), epoch(batches).numpy(), w.numpy()]

table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
result["table"] = tf.function(lambda words: table.lookup(words))(c(["b", "z"])).numpy()
concrete = powers.get_concrete_function(tf.TensorSpec([], tf.float32), 2)
result["concrete"] = [concrete(c(2.0)).numpy(), concrete(x=c(1.0)).numpy(), len(concrete.inputs)]
result["no tensor"] = error_of(lambda: tf.function(lambda: object())())
