"""`tf.function`: Python functions traced into graphs, once for each signature."""
