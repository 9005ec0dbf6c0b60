# issue 3: the sentence CNN of the workshop (Kim 2014), trained two steps
# tolerance 2e-3
sentences = (np.arange(4 * 7).reshape(4, 7) * 5 % 11).astype(np.int32)
labels = np.eye(2, dtype=np.float32)[[0, 1, 1, 0]]


def fixed(shape, scale=1.0):
    return tf.constant(np.cos(np.arange(np.prod(shape)) * scale).reshape(shape) * 0.3, tf.float32)


input_x = tf.placeholder(tf.int32, [None, 7], name="input_x")
input_y = tf.placeholder(tf.float32, [None, 2], name="input_y")
keep = tf.placeholder(tf.float32, name="dropout_keep_prob")
l2_loss = tf.constant(0.0)
with tf.device("/cpu:0"), tf.name_scope("embedding"):
    W = tf.Variable(fixed([11, 5]), name="W")
    chars = tf.nn.embedding_lookup(W, input_x)
    expanded = tf.expand_dims(chars, -1)
pooled = []
for i, size in enumerate([2, 3]):
    with tf.name_scope("conv-maxpool-%s" % size):
        W = tf.Variable(fixed([size, 5, 1, 4], size), name="W")
        b = tf.Variable(tf.constant(0.1, shape=[4]), name="b")
        conv = tf.nn.conv2d(expanded, W, strides=[1, 1, 1, 1], padding="VALID", name="conv")
        h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
        pooled.append(
            tf.nn.max_pool(
                h, ksize=[1, 7 - size + 1, 1, 1], strides=[1, 1, 1, 1], padding="VALID", name="pool"
            )
        )
flat = tf.reshape(tf.concat(pooled, 3), [-1, 8])
with tf.name_scope("dropout"):
    dropped = tf.nn.dropout(flat, keep)
with tf.name_scope("output"):
    W = tf.get_variable("W", initializer=fixed([8, 2], 3.0))
    b = tf.Variable(tf.constant(0.1, shape=[2]), name="b")
    l2_loss += tf.nn.l2_loss(W)
    l2_loss += tf.nn.l2_loss(b)
    scores = tf.nn.xw_plus_b(dropped, W, b, name="scores")
    predictions = tf.argmax(scores, 1, name="predictions")
with tf.name_scope("loss"):
    losses = tf.nn.softmax_cross_entropy_with_logits(logits=scores, labels=input_y)
    loss = tf.reduce_mean(losses) + 0.1 * l2_loss
with tf.name_scope("accuracy"):
    correct = tf.equal(predictions, tf.argmax(input_y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, "float"), name="accuracy")
global_step = tf.Variable(0, name="global_step", trainable=False)
optimizer = tf.train.AdamOptimizer(1e-2)
grads_and_vars = optimizer.compute_gradients(loss)
train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)
result["classes"] = [isinstance(g, tf.IndexedSlices) for g, _ in grads_and_vars]
result["variables"] = [v.name for v in tf.trainable_variables()]
result["names"] = [t.name for t in (scores, predictions, loss, accuracy, conv, dropped)]
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    feed = {input_x: sentences, input_y: labels, keep: 1.0}
    result["steps"] = [
        sess.run([train_op, global_step, loss, accuracy], feed)[2:] for _ in range(3)
    ]
    result["predictions"] = sess.run(predictions, feed)
    result["scores"] = sess.run(scores, feed)
