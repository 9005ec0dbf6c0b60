# issue 3: the slides' placeholders, datasets and variables
x = tf.placeholder(tf.float32)
y = tf.placeholder(tf.float32)
z = x + y
sess = tf.Session()
result["scalars"] = sess.run(z, feed_dict={x: 3, y: 4.5})
result["vectors"] = sess.run(z, feed_dict={x: [1, 3], y: [2, 4]})
my_data = [[0, 1], [2, 3], [4, 5], [6, 7]]
slices = tf.data.Dataset.from_tensor_slices(my_data)
next_item = tf.data.make_one_shot_iterator(slices).get_next()
items = []
while True:
    try:
        items.append(sess.run(next_item))
    except tf.errors.OutOfRangeError:
        break
result["items"] = items
my_variable = tf.get_variable("my_variable", [1, 2, 3])
my_int_variable = tf.get_variable(
    "my_int_variable", [1, 2, 3], dtype=tf.int32, initializer=tf.zeros_initializer
)
other = tf.get_variable("other_variable", dtype=tf.int32, initializer=tf.constant([23, 42]))
v = tf.get_variable("v", shape=(), initializer=tf.zeros_initializer())
w = v + 1
assignment = v.assign_add(1)
sess.run(tf.global_variables_initializer())
result["w"] = sess.run(w)
result["assigned"] = sess.run(assignment)
result["values"] = sess.run([my_int_variable, other])
result["bound"] = bool(np.abs(sess.run(my_variable)).max() <= np.sqrt(6.0 / 5))
result["names"] = [t.name for t in tf.global_variables()]
result["w_name"] = [w.name, assignment.name]
no_dtype = error_of(lambda: tf.placeholder(name="x"))
result["no_dtype"] = no_dtype
