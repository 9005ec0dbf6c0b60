"""`tf.random.experimental`: random numbers whose state is a variable."""

from dataflow.namespaces import explain_absent
from dataflow.ops.random_generator import (
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)

__all__ = ["Generator", "create_rng_state", "get_global_generator", "set_global_generator"]

__getattr__ = explain_absent(__name__)
