"""``tensorflow.python.util.protobuf``."""
