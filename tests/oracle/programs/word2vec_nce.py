# issue 3: word2vec with noise-contrastive estimation; the noise words are given, so all is fixed
vocabulary, size, batch = 8, 3, 4
inputs = tf.constant([0, 1, 2, 1])
labels = tf.constant([[1], [2], [0], [3]], tf.int64)
embeddings = tf.Variable(np.sin(np.arange(24)).reshape(8, 3).astype(np.float32), name="embeddings")
nce_weights = tf.Variable(
    np.cos(np.arange(24)).reshape(8, 3).astype(np.float32), name="nce_weights"
)
nce_biases = tf.Variable(tf.zeros([8]), name="nce_biases")
embed = tf.nn.embedding_lookup(embeddings, inputs)
sampled = (
    tf.constant([5, 7, 0], tf.int64),
    tf.constant([[0.5], [0.3], [0.6], [0.2]]),
    tf.constant([0.1, 0.05, 0.6]),
)
nce = tf.nn.nce_loss(
    weights=nce_weights,
    biases=nce_biases,
    labels=labels,
    inputs=embed,
    num_sampled=3,
    num_classes=vocabulary,
    sampled_values=sampled,
)
hits = tf.nn.nce_loss(
    nce_weights,
    nce_biases,
    labels,
    embed,
    3,
    vocabulary,
    sampled_values=sampled,
    remove_accidental_hits=True,
)
soft = tf.nn.sampled_softmax_loss(
    nce_weights, nce_biases, labels, embed, 3, vocabulary, sampled_values=sampled
)
grads = tf.gradients(nce, [embeddings, nce_weights, nce_biases])
train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(nce))
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
normalized = embeddings / norm
similarity = tf.matmul(tf.nn.embedding_lookup(normalized, [0, 3]), normalized, transpose_b=True)
result["classes"] = [type(g).__name__ for g in grads]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["nce"] = sess.run(nce)
    result["hits"] = sess.run(hits)
    result["sampled_softmax"] = sess.run(soft)
    result["soft_gradient"] = sess.run(tf.convert_to_tensor(tf.gradients(soft, nce_weights)[0]))
    result["gradients"] = [sess.run(tf.convert_to_tensor(g)) for g in grads]
    for _ in range(3):
        sess.run(train)
    result["trained"] = sess.run([embeddings, nce_weights, nce_biases])
    result["similarity"] = sess.run(similarity)
    drawn = sess.run(tf.nn.nce_loss(nce_weights, nce_biases, labels, embed, 5, vocabulary))
    result["drawn"] = [list(drawn.shape), bool(np.isfinite(drawn).all())]
    expected = tf.nn.log_uniform_candidate_sampler(labels, 1, 3, True, 8)
    result["static"] = [shape_of(t) for t in expected]
