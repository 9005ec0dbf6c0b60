"""``tf.contrib.opt``: more optimizers, some for workers that train apart, and SciPy's for a graph's loss."""

from dataflow.contrib.opt.adagrad_variants import RegAdagradOptimizer, ShampooOptimizer
from dataflow.contrib.opt.adam_variants import AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer
from dataflow.contrib.opt.agn_optimizer import AGNCustomGetter, AGNOptimizer
from dataflow.contrib.opt.drop_stale_gradient_optimizer import DropStaleGradientOptimizer
from dataflow.contrib.opt.elastic_average_optimizer import (
    ElasticAverageCustomGetter,
    ElasticAverageOptimizer,
)
from dataflow.contrib.opt.ggt_optimizer import GGTOptimizer
from dataflow.contrib.opt.model_average_optimizer import (
    ModelAverageCustomGetter,
    ModelAverageOptimizer,
)
from dataflow.contrib.opt.external_optimizer import (
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)
from dataflow.contrib.opt.global_step_adam import (
    AdamGSOptimizer,
    LazyAdamGSOptimizer,
    MultitaskOptimizerWrapper,
)
from dataflow.contrib.opt.lars_optimizer import LARSOptimizer
from dataflow.contrib.opt.moving_average_optimizer import MovingAverageOptimizer
from dataflow.contrib.opt.sign_optimizers import AddSignOptimizer, PowerSignOptimizer
from dataflow.contrib.opt.sign_decay import (
    get_cosine_decay_fn,
    get_linear_decay_fn,
    get_restart_decay_fn,
)
from dataflow.contrib.opt.weight_decay_optimizers import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from dataflow.contrib.opt.variable_clipping_optimizer import VariableClippingOptimizer
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.clip import clip_by_global_norm

__all__ = [
    "AGNCustomGetter",
    "AGNOptimizer",
    "AdaMaxOptimizer",
    "AdamGSOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "DropStaleGradientOptimizer",
    "ElasticAverageCustomGetter",
    "ElasticAverageOptimizer",
    "ExternalOptimizerInterface",
    "GGTOptimizer",
    "LARSOptimizer",
    "LazyAdamGSOptimizer",
    "LazyAdamOptimizer",
    "ModelAverageCustomGetter",
    "ModelAverageOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "MultitaskOptimizerWrapper",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "RegAdagradOptimizer",
    "ScipyOptimizerInterface",
    "ShampooOptimizer",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
    "get_cosine_decay_fn",
    "get_linear_decay_fn",
    "get_restart_decay_fn",
]


def clip_gradients_by_global_norm(
    gradients_variables: list[tuple[object, object]], clip_norm: float = 20.0
) -> tuple[list[tuple[object, object]], Tensor]:
    """The pairs, their gradients scaled to a norm of at most ``clip_norm`` together, and the norm before.

    The norm is a scalar. A variable without a gradient keeps its None.
    """
    gradients, variables = zip(*gradients_variables, strict=True)
    clipped, norm = clip_by_global_norm(list(gradients), clip_norm)
    return list(zip(clipped, variables, strict=True)), norm


__getattr__ = explain_absent(__name__)
