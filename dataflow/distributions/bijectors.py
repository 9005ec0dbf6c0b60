"""Invertible, differentiable functions with their log-determinants, for `TransformedDistribution`."""

from dataflow.distributions.affine_bijectors import Affine as Affine, AffineScalar as AffineScalar
from dataflow.distributions.bijector import Bijector as Bijector
from dataflow.distributions.composed_bijectors import (
    Chain as Chain,
    Inline as Inline,
    Invert as Invert,
    RealNVP as RealNVP,
    real_nvp_default_template as real_nvp_default_template,
)
from dataflow.distributions.elementary_bijectors import (
    Exp as Exp,
    Gumbel as Gumbel,
    Identity as Identity,
    Kumaraswamy as Kumaraswamy,
    Ordered as Ordered,
    Permute as Permute,
    PowerTransform as PowerTransform,
    Reshape as Reshape,
    Sigmoid as Sigmoid,
    SinhArcsinh as SinhArcsinh,
    SoftmaxCentered as SoftmaxCentered,
    Softplus as Softplus,
    Softsign as Softsign,
    Square as Square,
    Tanh as Tanh,
)
from dataflow.distributions.flows import (
    BatchNormalization as BatchNormalization,
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
    masked_autoregressive_default_template as masked_autoregressive_default_template,
    masked_dense as masked_dense,
)
from dataflow.distributions.matrix_bijectors import (
    AffineLinearOperator as AffineLinearOperator,
    CholeskyOuterProduct as CholeskyOuterProduct,
    FillTriangular as FillTriangular,
    MatrixInverseTriL as MatrixInverseTriL,
    ScaleTriL as ScaleTriL,
    TransformDiagonal as TransformDiagonal,
)
