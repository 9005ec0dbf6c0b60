"""``tf.saved_model.tag_constants``: the usual tags of graphs."""

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"
