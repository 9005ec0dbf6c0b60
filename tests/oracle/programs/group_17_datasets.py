# issue 16: datasets that go on after an error, assign, nest, and take tensors as arguments
"""Group 17: datasets that go on after an error, assign, nest."""


def elements(dataset, count=12):
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(iterator.initializer)
        for _ in range(count):
            try:
                found.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                return [*found, "end"]
            except tf.errors.InvalidArgumentError:
                found.append("error")
    return found


Dataset = tf.data.Dataset
experimental = tf.data.experimental
base = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0])


def inverse(x):
    return tf.check_numerics(1.0 / x, "inverse")


after_error = {
    "map": base.map(inverse),
    "parallel": base.map(inverse, num_parallel_calls=2),
    "prefetch": base.map(inverse).prefetch(2),
    "interleave": base.interleave(lambda x: Dataset.from_tensors(inverse(x)), 2),
    "flat_map": base.flat_map(lambda x: Dataset.from_tensors(inverse(x))),
    "filter": base.filter(lambda x: inverse(x) > 0),
    "batch": base.map(inverse).batch(2),
    "window": base.map(inverse).window(2).flat_map(lambda d: d.batch(2)),
    "shuffle": base.map(inverse).shuffle(1),
    "take": base.map(inverse).take(3),
    "zip": Dataset.zip((base.map(inverse), base)),
    "repeat": base.map(inverse).repeat(2),
    "scan": base.apply(experimental.scan(0.0, lambda a, x: (a + inverse(x), a))),
    "ignore": base.map(inverse, num_parallel_calls=2).apply(experimental.ignore_errors()),
}
for name, dataset in after_error.items():
    result[f"error_{name}"] = elements(dataset)


class Numbers:
    """An iterator that fails once."""

    def __init__(self):
        self.number = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.number += 1
        if self.number == 2:
            raise ValueError("two")
        if self.number > 4:
            raise StopIteration
        return self.number


def misfit():
    yield from [1, "x", 3]


result["error_iterator"] = elements(Dataset.from_generator(Numbers, tf.int32))
result["error_item"] = elements(Dataset.from_generator(misfit, tf.int32))

v = tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=True)
result["assigns"] = elements(Dataset.range(3).map(lambda x: v.assign_add(x) + 0))
result["map_to_dataset"] = elements(Dataset.range(3).map(Dataset.range).flat_map(lambda d: d))
result["of_dataset"] = elements(Dataset.from_tensors(Dataset.range(3)).flat_map(lambda d: d))
result["of_tensor_array"] = elements(
    Dataset.range(2)
    .map(lambda x: tf.TensorArray(tf.int64, 2, clear_after_read=False).unstack([x, x + 1]))
    .map(lambda a: a.stack())
)
for name in "ab":
    with open(f"{tmp_dir}/{name}", "w") as file:
        file.write(f"{name}1\n{name}2\n")
    with tf.python_io.TFRecordWriter(f"{tmp_dir}/{name}.records") as writer:
        writer.write(name.encode())
names = Dataset.from_tensor_slices([f"{tmp_dir}/a", f"{tmp_dir}/b"])
records = names.map(lambda name: name + ".records")
result["lines_of_names"] = elements(tf.data.TextLineDataset(names))
result["records_of_names"] = elements(tf.data.TFRecordDataset(records))
result["records_in_turn"] = elements(tf.data.TFRecordDataset(records, num_parallel_reads=2))
result["no_files_built"] = error_of(lambda: Dataset.list_files(f"{tmp_dir}/nothing*"))

import gzip

with gzip.open(f"{tmp_dir}/pieces.gz", "wb") as file:
    file.write(b"HHaabbccF")
result["compressed_pieces"] = elements(
    tf.data.FixedLengthRecordDataset(f"{tmp_dir}/pieces.gz", 2, 2, 1, compression_type="GZIP")
)
fill = Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
result["padded_by_tensor"] = elements(fill.padded_batch(2, tf.constant([5], tf.int64)))
result["seed_tensor"] = sorted(
    elements(Dataset.range(3).shuffle(3, seed=tf.constant(3, tf.int64)), 3)
)


def count(n):
    yield from range(n)


result["generator_arguments"] = elements(
    Dataset.range(1, 4).flat_map(lambda n: Dataset.from_generator(count, tf.int64, args=(n,)))
)
iterator = Dataset.range(3).map(lambda x: tf.random_uniform([], seed=3))
iterator = tf.data.make_initializable_iterator(iterator)
draw = iterator.get_next()
rounds = []
with tf.Session() as sess:
    for _ in range(2):
        sess.run(iterator.initializer)
        rounds.append([sess.run(draw) for _ in range(3)])
result["draws_repeat"] = rounds[0] == rounds[1]
result["draws_differ"] = len(set(rounds[0]))

one, two = tf.constant(1, tf.int64), tf.constant(2, tf.int64)
refused = {
    "concatenate_pair": lambda: Dataset.range(2).concatenate(Dataset.from_tensors((one, two))),
    "concatenate_dict": lambda: Dataset.from_tensors({"a": 1}).concatenate(
        Dataset.from_tensors((1,))
    ),
    "unbatch_sizes": lambda: Dataset.from_tensors((tf.zeros([2]), tf.zeros([3]))).apply(
        experimental.unbatch()
    ),
    "unbatch_scalar": lambda: Dataset.from_tensors(1).apply(experimental.unbatch()),
}
for name, build in refused.items():
    result[f"refused_{name}"] = error_of(build)
with tf.Graph().as_default():
    elsewhere = Dataset.range(3).map(lambda x: x)
result["other_graph"] = error_of(lambda: tf.data.make_one_shot_iterator(elsewhere))

options = tf.data.Options()
options.experimental_deterministic = False
chosen = Dataset.range(2).with_options(options)
result["options"] = chosen.map(lambda x: x).options().experimental_deterministic
result["options_unset"] = Dataset.range(2).options().experimental_deterministic
result["options_unknown"] = error_of(lambda: setattr(options, "no_such_option", 1))
