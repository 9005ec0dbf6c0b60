"""``tf.contrib.learn.python``: the longer paths of `tf.contrib.learn`."""
