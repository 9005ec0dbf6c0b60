# issue 3: a small convolutional network, two steps of training
# tolerance 2e-3
data = np.sin(np.arange(4 * 8 * 8)).reshape(4, 64).astype(np.float32)
labels = np.eye(3, dtype=np.float32)[[0, 1, 2, 1]]
x = tf.placeholder(tf.float32, [None, 64])
y = tf.placeholder(tf.float32, [None, 3])
keep_prob = tf.placeholder(tf.float32)


def init(shape):
    return tf.Variable(
        tf.constant(np.cos(np.arange(np.prod(shape))).reshape(shape) * 0.3, tf.float32)
    )


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


image = tf.reshape(x, [-1, 8, 8, 1])
h1 = max_pool_2x2(tf.nn.relu(conv2d(image, init([5, 5, 1, 4])) + init([4])))
h2 = max_pool_2x2(tf.nn.relu(conv2d(h1, init([3, 3, 4, 6])) + init([6])))
flat = tf.reshape(h2, [-1, 2 * 2 * 6])
fc = tf.nn.relu(tf.matmul(flat, init([24, 10])) + init([10]))
drop = tf.nn.dropout(fc, keep_prob)
logits = tf.matmul(drop, init([10, 3])) + init([3])
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(1e-3).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), "float"))
result["shapes"] = [shape_of(t) for t in (h1, h2, flat, fc, logits)]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: data, y: labels, keep_prob: 1.0}
    result["losses"] = [sess.run([loss, train], feed)[0] for _ in range(4)]
    result["logits"] = sess.run(logits, feed)
    result["accuracy"] = accuracy.eval(feed)
