# issue 16: a snippet each of groups of the differences that no other program has
def value(tensor, feeds=None, init=False):
    with tf.Session() as session:
        if init:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(tensor, feeds)


x = tf.ones([2, 2])
b = tf.Variable(tf.ones([2]))
biased = tf.matmul(x, x) + b
result["3 gather of a sum"] = value(tf.gradients(tf.gather(biased, [0]), [x, b]), init=True)
numbers = tf.constant([1, 2, 3])
result["5 mask"] = value([numbers[numbers > 1], numbers[np.array([True, False, True])]])
result["9 reshape"] = list(value(tf.reshape(tf.zeros([0, 6]), [0, -1, 3])).shape)
text = tf.placeholder(tf.string)
result["9 number for text"] = error_of(lambda: value(text, {text: 1}))
result["9 joined"] = value(tf.scatter_nd([[0], [0]], ["b", "b"], [1]))
queue = tf.FIFOQueue(2, tf.int32)
result["13 both"] = value([queue.dequeue(), queue.enqueue(3)])[0]
anything = tf.placeholder(tf.float32)
result["20 tensordot"] = value(tf.tensordot(anything, anything, 1), {anything: np.ones((2, 2))})
v = tf.Variable([1, 2, 3])
result["21 slice"] = value(tf.assign(v[1:3], [7, 8]), init=True)
array = tf.TensorArray(tf.float32, 2, element_shape=[2]).write(0, [1.0, 2.0])
result["26 unwritten"] = value(array.stack())
result["28 int"] = error_of(lambda: tf.switch_case(1, {0: lambda: 1}))
strict = lambda: tf.cond(tf.constant(True), lambda: [1], lambda: (1,), strict=True)
result["28 strict"] = error_of(strict)
result["29 abs"] = value(tf.abs(tf.SparseTensor([[0]], [-1.0], [1]))).values
result["31 mod"] = (5 % tf.Dimension(3)).value
result["31 crop"] = shape_of(tf.image.crop_to_bounding_box(anything, 0, 0, 2, 2))
result["35 hex"] = value(tf.string_to_number("0xF"))
result["36 two devices"] = error_of(lambda: tf.DeviceSpec.from_string("/cpu:0/gpu:1"))
result["36 einsum"] = error_of(lambda: tf.einsum("aa->a", tf.eye(2)))
result["36 concat"] = error_of(lambda: tf.concat([], 0))
result["36 rank"] = error_of(lambda: tf.assert_rank(1, 0.5))
result["36 csv"] = error_of(lambda: tf.decode_csv(["1"], np.zeros(1)))
