"""`tf.version`: what to answer to code that asks for TensorFlow's version."""

VERSION = "1.15.0"
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
GIT_VERSION = "dataflow"
COMPILER_VERSION = "none"
#: Nothing here is compiled from C++.
CXX11_ABI_FLAG = 0
CXX_VERSION = 0
MONOLITHIC_BUILD = 0
