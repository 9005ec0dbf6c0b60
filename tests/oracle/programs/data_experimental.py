# issue 16: the rest of tf.data.experimental, and tf.linalg.experimental
import os
import sqlite3

data, experimental = tf.data.Dataset, tf.data.experimental
session = tf.Session()


def elements(dataset, most=99):
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    for _ in range(most):
        try:
            found.append(session.run(following))
        except tf.errors.OutOfRangeError:
            break
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
            break
    return found


ten = data.range(10)
few = ten.filter(lambda x: x > 3)
counted = {
    "range": ten,
    "tensors": data.from_tensors(1),
    "repeat": ten.repeat(),
    "repeat_3": ten.repeat(3),
    "repeat_0": ten.repeat(0),
    "repeat_empty": ten.take(0).repeat(),
    "repeat_unknown": few.repeat(),
    "batch": ten.batch(3),
    "batch_whole": ten.batch(3, drop_remainder=True),
    "batch_endless": ten.repeat().batch(3),
    "padded": ten.padded_batch(3, []),
    "filter": few,
    "take": ten.take(4),
    "take_all": ten.take(-1),
    "take_endless": ten.repeat().take(5),
    "take_unknown": few.take(2),
    "skip": ten.skip(3),
    "skip_all": ten.skip(-1),
    "skip_endless": ten.repeat().skip(3),
    "shard": ten.shard(3, 1),
    "window": ten.window(4),
    "window_strided": ten.window(4, 1, 2),
    "window_whole": ten.window(4, 1, 2, drop_remainder=True),
    "flat_map": ten.flat_map(lambda x: data.range(2)),
    "zip": data.zip((ten.repeat(), ten.take(3))),
    "zip_endless": data.zip((ten.repeat(), ten.repeat())),
    "zip_unknown": data.zip((ten, few)),
    "concatenate": ten.concatenate(ten),
    "concatenate_endless": ten.concatenate(ten.repeat()),
    "concatenate_unknown": ten.concatenate(few),
    "shuffle": ten.shuffle(3),
    "cache": ten.cache(),
    "prefetch": ten.prefetch(2),
    "scan": ten.apply(experimental.scan(np.int64(0), lambda s, x: (s, x))),
    "counter": experimental.Counter(),
    "random": experimental.RandomDataset(),
    "asserted": few.apply(experimental.assert_cardinality(6)),
}
result["cardinality"] = session.run({k: experimental.cardinality(d) for k, d in counted.items()})
result["known"] = [experimental.INFINITE_CARDINALITY, experimental.UNKNOWN_CARDINALITY]
result["asserted"] = [
    elements(ten.apply(experimental.assert_cardinality(n))) for n in (10, 8, 12, -1, -2)
]

total = experimental.Reducer(
    lambda key: (tf.constant(0, tf.int64), key), lambda s, x: (s[0] + x, s[1]), lambda s, k: (k, s)
)
result["reduced"] = elements(ten.apply(experimental.group_by_reducer(lambda x: x % 3, total)))
single = experimental.Reducer(lambda key: 0.0, lambda s, x: s + 1.0, lambda s: s)
result["reduced_single"] = elements(
    data.zip((ten, ten)).apply(experimental.group_by_reducer(lambda x, y: y % 2, single))
)

path = os.path.join(tmp_dir, "people.sqlite")
base = sqlite3.connect(path)
base.execute("CREATE TABLE people (name TEXT, age INTEGER, height REAL, here INTEGER)")
base.executemany(
    "INSERT INTO people VALUES (?, ?, ?, ?)", [("Ann", 31, 1.7, 1), ("Bo", 45, 1.6, 0)]
)
base.commit()
base.close()
kinds = (tf.string, tf.int32, tf.float64, tf.bool)
everyone = experimental.SqlDataset("sqlite", path, "SELECT * FROM people ORDER BY age", kinds)
result["sql"] = elements(everyone)
result["sql_spec"] = [str(everyone.output_types), str(everyone.output_shapes)]
result["sql_errors"] = [
    elements(experimental.SqlDataset(driver, path, query, (tf.int64,)))
    for driver, query in (
        ("mysql", "SELECT age FROM people"),
        ("sqlite", "SELECT age FROM nobody"),
        ("sqlite", "SELECT name, age FROM people"),
    )
]

for kind in (None, "GZIP"):
    file = os.path.join(tmp_dir, f"texts{kind}.tfrecord")
    texts = data.from_tensor_slices(["one", "two", "three"])
    session.run(experimental.TFRecordWriter(file, kind).write(texts))
    result[f"records_{kind}"] = elements(tf.data.TFRecordDataset(file, compression_type=kind))
result["record_errors"] = [
    error_of(lambda wrong=wrong: experimental.TFRecordWriter("x").write(wrong))
    for wrong in (ten, texts.batch(2), [1])
]

for name, step in (
    ("copy", experimental.copy_to_device("/cpu:0")),
    ("ahead", experimental.prefetch_to_device("/cpu:0")),
    ("legacy", experimental.map_and_batch_with_legacy_function(lambda x: 2 * x, 4)),
):
    result[name] = elements(ten.apply(step))
variant = experimental.to_variant(ten)
result["variant"] = elements(
    data.from_tensors(0).flat_map(
        lambda _: experimental.from_variant(
            experimental.to_variant(data.range(3)), tf.TensorSpec([], tf.int64)
        )
    )
)
result["variant_dtype"] = [variant.dtype.name, shape_of(variant)]
spec = experimental.TensorStructure(tf.int32, [3])
result["structures"] = [
    spec.dtype.name,
    spec.shape.as_list(),
    isinstance(spec, experimental.Structure),
]

labels = data.from_tensor_slices(np.arange(4000) % 10 // 7).map(lambda x: tf.cast(x, tf.int32))
for initial in ([0.7, 0.3], None):
    even = labels.apply(
        experimental.rejection_resample(lambda x: x, [0.5, 0.5], initial, seed=3)
    ).batch(9999)
    numbers, values = elements(even)[0]
    result[f"even_{initial}"] = [abs(np.mean(numbers) - 0.5) < 0.06, (numbers == values).all()]
    result[f"even_many_{initial}"] = len(numbers) > 2000

options = tf.data.Options()
options.experimental_distribute.num_devices = 2
result["options"] = ten.with_options(options).options().experimental_distribute.num_devices
result["policies"] = [p.name for p in experimental.ExternalStatePolicy]

root = np.array([[2.0, 0.5, 0.0], [0.0, 1.5, 0.25], [0.5, 0.0, 1.0]])
matrix = root @ root.T
operator = tf.linalg.LinearOperatorFullMatrix(
    matrix, is_self_adjoint=True, is_positive_definite=True
)
near = tf.linalg.LinearOperatorDiag(1 / np.diag(matrix))
right = tf.constant([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]], tf.float64)
solve = tf.linalg.experimental.conjugate_gradient
for key, options in (
    ("plain", {}),
    ("preconditioned", {"preconditioner": near}),
    ("begun", {"x": right / 2, "tol": 1e-10}),
    ("stopped", {"max_iter": 1}),
):
    state = session.run(solve(operator, right, **options))
    result[f"cg_{key}"] = [state.i, state.x, state.gamma]
