"""``import tensorflow`` in a process that a program run by ``dataflow run`` starts: this engine, there too."""

import sys

import dataflow

DATAFLOW_STAND_IN = True  # `import_hook.install` tells this module from the real one by it
dataflow.as_tensorflow()
sys.modules.pop(__name__, None)
__import__(__name__)
