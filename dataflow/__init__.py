"""dataflow: TensorFlow 1's graph mode, to look at while it works.

``import dataflow as tf``. The public names stand in ``__init__.pyi`` beside this file, those of
``tf.nn``, ``tf.train`` and their like in the stub of each; they are imported when first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

from dataflow.namespaces import attach_stub as _attach_stub
from dataflow.notebook_errors import install as _install_errors
from dataflow.providers import provide as _provide

# What graphs and sessions need whichever names are used: operators of tensors, conversions, composite
# fetches.
from dataflow.ops import array as _array, operators as _operators
from dataflow.runtime import composites as _composites, eager as _eager, session as _session

_provide(
    # The default graph is made when a node first asks for it.
    graph="dataflow.graph.graph:Graph",
    ragged_math="dataflow.ops.ragged_math",
    # The spec of a ragged tensor is one of data sets' components, and a spec compares itself with values.
    ragged_tensor_spec="dataflow.data.ragged_elements:RaggedTensorSpec",
    type_spec_from_value="dataflow.ops.type_specs:type_spec_from_value",
    # An op type that is not registered yet is looked for in all the files of ops.
    all_ops="dataflow.ops.all",
    # tf.dtypes has functions, too.
    dtype_functions="dataflow.ops.dtype_functions",
    # A function of a GraphDef's library becomes a graph of its own, which knows how to run.
    function_graph="dataflow.data.functions:FunctionGraph",
    # A node that calls one becomes what the function holds.
    function_calls="dataflow.ops.function_calls",
    # A layer of a file names functions of tf.nn and tf.math.
    public_names="dataflow",
    # A SavedModel of graphs becomes functions, with the values of its variables.
    convert_variables_to_constants="dataflow.graph_util:convert_variables_to_constants",
    # Layers and checkpoints use Keras's session where there is no default one.
    keras_backend="dataflow.keras.backend",
    # A session connects to a cluster, and explains a run.
    cluster="dataflow.cluster.execution.client",
    explain="dataflow.introspect.explain:explain",
    # Iterators of eager code run their dataset.
    session="dataflow.runtime.session:Session",
    # A notebook shows widgets.
    renderer="dataflow.notebook:render",
    rewrite_player="dataflow.notebook:rewrite_player",
    widget_file="dataflow.notebook:widget_file",
)
_install_errors()
__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
