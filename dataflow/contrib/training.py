"""``tf.contrib.training``: which parameter server holds a variable."""

from dataflow.train.device_setter import GreedyLoadBalancingStrategy, byte_size_load_fn

__all__ = ["GreedyLoadBalancingStrategy", "byte_size_load_fn"]
