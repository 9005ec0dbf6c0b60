# issue 3: custom getters, partitioners, make_template
def doubling(getter, name, *args, **kwargs):
    result["asked"] = result.get("asked", []) + [name]
    return getter(name, *args, **kwargs) * 2.0


with tf.variable_scope("scope", custom_getter=doubling):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["doubled"] = sess.run(v)
with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
    p = tf.get_variable("p", [5, 2], initializer=tf.constant_initializer(3.0))
result["partitioned"] = [x.name for x in tf.global_variables() if x.name.startswith("parts")]
result["part_shapes"] = [shape_of(x) for x in p]
whole = tf.convert_to_tensor(p)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["whole"] = sess.run(whole)
    result["looked_up"] = sess.run(tf.nn.embedding_lookup(p, [0, 4, 1]))


def linear(x):
    w = tf.get_variable("w", [2], initializer=tf.constant_initializer(2.0))
    return x * w


template = tf.make_template("linear", linear)
a = template(tf.constant([1.0, 2.0]))
b = template(tf.constant([3.0, 4.0]))
result["template"] = [x.name for x in tf.global_variables() if "linear" in x.name]
result["outputs"] = [a.name, b.name]
