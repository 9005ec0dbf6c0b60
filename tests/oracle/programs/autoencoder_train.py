# issue 3: an autoencoder with tied weights and a variational one with its noise fed
# tolerance 1e-3
data = (np.sin(np.arange(6 * 8)).reshape(6, 8) * 0.5 + 0.5).astype(np.float32)
X = tf.placeholder("float", [None, 8])
weights = {"encoder": tf.Variable(np.cos(np.arange(24)).reshape(8, 3).astype(np.float32))}
biases = {"encoder": tf.Variable(tf.zeros([3])), "decoder": tf.Variable(tf.zeros([8]))}
code = tf.nn.sigmoid(tf.add(tf.matmul(X, weights["encoder"]), biases["encoder"]))
decoded = tf.nn.sigmoid(
    tf.add(tf.matmul(code, tf.transpose(weights["encoder"])), biases["decoder"])
)
cost = tf.reduce_mean(tf.pow(X - decoded, 2))
train = tf.train.RMSPropOptimizer(0.01).minimize(cost)
noise = tf.placeholder(tf.float32, [None, 2])
Wm = tf.Variable(np.sin(np.arange(16)).reshape(8, 2).astype(np.float32))
Ws = tf.Variable(np.cos(np.arange(16)).reshape(8, 2).astype(np.float32) * 0.1)
mean, log_variance = tf.matmul(X, Wm), tf.matmul(X, Ws)
z = mean + tf.exp(0.5 * log_variance) * noise
rebuilt = tf.matmul(z, tf.Variable(np.cos(np.arange(16)).reshape(2, 8).astype(np.float32)))
reconstruction = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=X, logits=rebuilt), 1)
divergence = -0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
vae_loss = tf.reduce_mean(reconstruction + divergence)
vae_train = tf.train.AdamOptimizer(0.01).minimize(vae_loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {X: data, noise: np.cos(np.arange(12)).reshape(6, 2)}
    result["costs"] = [sess.run([train, cost], feed)[1] for _ in range(10)]
    result["vae"] = [sess.run([vae_train, vae_loss], feed)[1] for _ in range(10)]
    result["code"] = sess.run(code, feed)
