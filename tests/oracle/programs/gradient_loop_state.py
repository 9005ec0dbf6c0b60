# issue 3: gradients where a tensor is used many times, and through control edges
x = tf.Variable(2.0, name="x")
y = x
for _ in range(6):
    y = y * x
deep = tf.gradients(y, x)[0]
shared = x * 3.0
fan = tf.add_n([shared * shared, tf.sin(shared), shared])
fan_gradient = tf.gradients(fan, [x, shared])
with tf.control_dependencies([tf.assign_add(x, 0.0)]):
    edge = tf.identity(x * x)
edge_gradient = tf.gradients(edge, x)[0]
matrix = tf.constant([[1.0, 2.0], [3.0, 4.0]])
top, index = tf.nn.top_k(matrix, 1)
multi = tf.split(matrix, 2, 1)
one_of = tf.gradients(multi[1], matrix)[0]
unpacked = tf.unstack(matrix)
part = tf.gradients(unpacked[0] * 2.0, matrix)[0]
jacobian_rows = [
    tf.gradients((matrix @ matrix)[i, j], matrix)[0] for i in range(2) for j in range(2)
]
broadcast = tf.gradients(tf.zeros([3, 2]) * x, x)[0]
wrt_intermediate = tf.gradients(fan, shared)[0]
result["names"] = [deep.name, fan_gradient[0].name]
with tf.Session() as sess:
    sess.run(x.initializer)
    result["values"] = sess.run(
        [
            deep,
            fan_gradient,
            edge_gradient,
            one_of,
            part,
            jacobian_rows,
            broadcast,
            wrt_intermediate,
        ]
    )
    result["top"] = sess.run(tf.gradients(top, matrix))
