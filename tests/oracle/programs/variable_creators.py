# issue 3: variable_creator_scope, VariableAggregation and VariableSynchronization
A, S = tf.VariableAggregation, tf.VariableSynchronization
result["aggregations"] = [(m.name, m.value) for m in A]
result["synchronizations"] = [(m.name, m.value) for m in S]


def facts(v):
    return [v.op.name, v.trainable, v.aggregation.name, v.synchronization.name]


result["default"] = facts(tf.Variable(1.0, name="a"))
result["sum"] = facts(tf.Variable(1.0, name="b", aggregation=A.SUM))
result["on_read"] = facts(tf.Variable(1.0, name="c", synchronization=S.ON_READ))
result["got"] = facts(
    tf.get_variable("d", [2], synchronization=S.ON_READ, aggregation=A.MEAN, trainable=False)
)
result["got_on_read"] = facts(tf.get_variable("e", [2], synchronization=S.ON_READ))
result["collected"] = sorted(v.op.name for v in tf.trainable_variables())
result["on_read_trainable"] = error_of(
    lambda: tf.Variable(1.0, synchronization=S.ON_READ, trainable=True)
)
result["bad_aggregation"] = error_of(lambda: tf.Variable(1.0, aggregation="sum"))
result["bad_synchronization"] = error_of(lambda: tf.get_variable("f", [1], synchronization=3))

seen = []


def outer(next_creator, **kwargs):
    seen.append(("outer", kwargs["name"], kwargs["trainable"]))
    return next_creator(**kwargs)


def inner(next_creator, **kwargs):
    seen.append(("inner", kwargs["name"], kwargs["trainable"]))
    kwargs["trainable"] = False
    return next_creator(**kwargs)


arguments = []


def spy(next_creator, **kwargs):
    arguments.append(sorted(kwargs))
    return next_creator(**kwargs)


with tf.variable_creator_scope(outer):
    one = tf.Variable(1.0, name="one")
    with tf.variable_creator_scope(inner):
        two = tf.Variable(2.0, name="two")
        with tf.variable_scope("scope"):
            three = tf.get_variable("three", [1])
    four = tf.Variable(4.0, name="four", trainable=False)
five = tf.Variable(5.0, name="five")
result["seen"] = seen
result["trainable"] = [v.trainable for v in (one, two, three, four, five)]
with tf.variable_creator_scope(spy):
    tf.Variable(6.0)
result["arguments"] = [
    a
    for a in arguments[0]
    if a not in ("distribute_strategy", "experimental_enable_variable_lifting")  # of TensorFlow 2
]
with tf.variable_creator_scope(lambda next_creator, **kwargs: one):
    result["shared"] = [
        tf.Variable(7.0) is one,
        tf.get_variable("other", [], initializer=tf.zeros_initializer()) is one,
    ]
with tf.variable_creator_scope(outer):
    with tf.Graph().as_default():
        before = len(seen)
        tf.Variable(1.0, name="elsewhere")
        result["other_graph"] = len(seen) - before
result["getter_arguments"] = []


def getter(getter, *args, **kwargs):
    result["getter_arguments"].append(sorted(kwargs))
    return getter(*args, **kwargs)


tf.get_variable("with_getter", [1], custom_getter=getter)
layer = tf.layers.Dense(2)
with tf.variable_creator_scope(inner):
    layer(tf.zeros([1, 3]))
result["layer"] = [v.trainable for v in tf.global_variables()[-2:]]
