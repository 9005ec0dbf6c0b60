"""``tf.contrib.gan.features``: parts of the networks of adversarial models, and of their training."""

from dataflow.contrib.gan.features.clipping import clip_discriminator_weights, clip_variables
from dataflow.contrib.gan.features.conditioning import (
    condition_tensor,
    condition_tensor_from_onehot,
)
from dataflow.contrib.gan.features.pool import tensor_pool
from dataflow.contrib.gan.features.spectral_normalization import (
    compute_spectral_norm,
    spectral_norm_regularizer,
    spectral_normalization_custom_getter,
    spectral_normalize,
)
from dataflow.contrib.gan.features.virtual_batchnorm import VBN
from dataflow.namespaces import explain_absent

__all__ = [
    "VBN",
    "clip_discriminator_weights",
    "clip_variables",
    "compute_spectral_norm",
    "condition_tensor",
    "condition_tensor_from_onehot",
    "spectral_norm_regularizer",
    "spectral_normalization_custom_getter",
    "spectral_normalize",
    "tensor_pool",
]

__getattr__ = explain_absent(__name__)
