# issue 3: gradients through loops
x = tf.constant([1.5, 2.0])
w = tf.Variable(0.5)


def power(n):
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, tf.ones([2])])[1]


n = tf.placeholder(tf.int32, [])
fixed = tf.gradients(power(3), x)[0]
dynamic = tf.gradients(power(n), x)[0]
recurrent = tf.while_loop(
    lambda i, h: i < n, lambda i, h: (i + 1, tf.tanh(h * w + 0.1)), [0, tf.constant(1.0)]
)[1]
dw = tf.gradients(recurrent, w)[0]
train = tf.train.GradientDescentOptimizer(0.1).minimize(recurrent)


def outer(i, t):
    return i + 1, tf.while_loop(lambda j, s: j < 2, lambda j, s: (j + 1, s * x), [0, t])[1]


nested = tf.while_loop(lambda i, t: i < 2, outer, [0, tf.ones([2])])[1]
dnested = tf.gradients(nested, x)[0]
branchy = tf.while_loop(
    lambda i, t: i < 4,
    lambda i, t: (i + 1, tf.cond(i < 2, lambda: t * x, lambda: t + x * x)),
    [0, tf.ones([2])],
)[1]
dbranchy = tf.gradients(branchy, x)[0]
matrix = tf.constant([[0.5, 0.1], [0.2, 0.3]])
rolled = tf.while_loop(
    lambda i, h: i < 3, lambda i, h: (i + 1, tf.matmul(h, matrix)), [0, tf.constant([[1.0, 2.0]])]
)[1]
dmatrix = tf.gradients(rolled, matrix)[0]
initial = tf.constant([2.0, 3.0])
through_initial = tf.gradients(
    tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * t), [0, initial])[1], initial
)[0]
with tf.Session() as sess:
    sess.run(w.initializer)
    result["fixed"] = sess.run(fixed)
    result["dynamic"] = [sess.run(dynamic, {n: k}) for k in (0, 1, 4)]
    result["dw"] = [sess.run(dw, {n: k}) for k in (0, 1, 3)]
    result["nested"] = sess.run([nested, dnested])
    result["branchy"] = sess.run([branchy, dbranchy])
    result["dmatrix"] = sess.run(dmatrix)
    result["initial"] = sess.run(through_initial)
    for _ in range(3):
        sess.run(train, {n: 3})
    result["trained"] = sess.run(w)
