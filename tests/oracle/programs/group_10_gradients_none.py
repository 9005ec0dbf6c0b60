# issue 16: gradients that were None without a word
"""Group 10: gradients that were None without a word."""

x = tf.constant(np.random.RandomState(0).uniform(0.05, 1.0, [3, 4, 3]), tf.float32)
weights = tf.constant(np.random.RandomState(1).uniform(-1.0, 1.0, [3, 4, 3]), tf.float32)
grad = tf.gradients(tf.image.rgb_to_hsv(x) * weights, x)[0]
with tf.Session() as sess:
    result["rgb_to_hsv"] = sess.run(grad)
