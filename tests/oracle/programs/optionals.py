# issue 16: optionals (tf.data.experimental.Optional, get_next_as_optional)
Optional = tf.data.experimental.Optional
optional_of_next = tf.data.experimental.get_next_as_optional


def values(tensor, times, before=None):
    with tf.Session() as sess:
        if before is not None:
            sess.run(before)
        return [sess.run(tensor) for _ in range(times)]


iterator = tf.data.make_initializable_iterator(
    tf.data.Dataset.range(2).map(lambda x: {"a": x, "b": (x * 2, x + 1)})
)
element = optional_of_next(iterator)
there, value = element.has_value(), element.get_value()
result["structure"] = sorted(element.value_structure)
result["next"] = values([there, value], 2, iterator.initializer)
result["end"] = values(there, 4, iterator.initializer)
result["uninitialized"] = error_of(lambda: values(there, 1))


def past_the_end():
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(3):
            sess.run(value)


result["no_value"] = error_of(past_the_end)
numbers = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
number = optional_of_next(numbers)
or_else = tf.cond(number.has_value(), number.get_value, lambda: tf.constant(-1, tf.int64))
result["cond"] = values(or_else, 5, numbers.initializer)


def add_next(_, total):
    following = optional_of_next(numbers)
    return tf.cond(
        following.has_value(),
        lambda: (True, total + following.get_value()),
        lambda: (False, total),
    )


looped = tf.while_loop(lambda go, _: go, add_next, [True, tf.constant(0, tf.int64)])
result["loop"] = values(looped, 1, numbers.initializer)
sparse = tf.SparseTensor([[0, 1]], [7.0], [1, 3])
mixed = Optional.from_value({"s": sparse, "t": (tf.constant("text"), [1, 2])})
result["mixed"] = values([tf.sparse.to_dense(mixed.get_value()["s"]), mixed.get_value()["t"]], 1)
none = Optional.none_from_structure(tf.TensorSpec([2], tf.float32))
result["none"] = values(none.has_value(), 1)
result["none_shape"] = shape_of(none.get_value())
result["none_value"] = error_of(lambda: values(none.get_value(), 1))
x = tf.constant([1.0, 2.0])
twice = Optional.from_value((x * x, tf.constant(1.0)))
result["gradient"] = values(tf.gradients([twice.get_value()[0], 3 * twice.get_value()[0]], x), 1)
result["spec"] = [
    tf.OptionalSpec.from_value(Optional.from_value(x)) == tf.OptionalSpec(tf.TensorSpec([2])),
    tf.OptionalSpec(tf.TensorSpec([2])) == tf.OptionalSpec(tf.TensorSpec([3])),
    tf.data.experimental.OptionalStructure is tf.OptionalSpec,
]
wrapped = tf.data.Dataset.range(4).map(lambda x: Optional.from_value((x, x + 1)))
result["classes"] = tf.data.get_output_classes(wrapped) == wrapped.element_spec
firsts = wrapped.filter(lambda o: o.has_value()).map(lambda o: o.get_value()[0])
iterator = tf.data.make_initializable_iterator(firsts)
result["in_map"] = values(iterator.get_next(), 4, iterator.initializer)
iterator = tf.data.make_initializable_iterator(wrapped)
result["in_dataset"] = values(iterator.get_next().get_value(), 4, iterator.initializer)
result["batch"] = error_of(lambda: wrapped.batch(2)) is not None
names = {op.name: op.type for op in tf.get_default_graph().get_operations()}
result["names"] = {n: t for n, t in names.items() if n in ("optional", "OptionalHasValue")}
