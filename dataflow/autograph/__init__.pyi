from dataflow.autograph import experimental as experimental
from dataflow.autograph.api import (
    set_verbosity as set_verbosity,
    to_code as to_code,
    to_graph as to_graph,
    trace as trace,
)
