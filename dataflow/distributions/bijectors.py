"""Invertible, differentiable functions with their log-determinants, for `TransformedDistribution`."""

from dataflow.distributions.affine_bijectors import (
    Affine as Affine,
    AffineLinearOperator as AffineLinearOperator,
    AffineScalar as AffineScalar,
)
from dataflow.distributions.bijector import (
    Bijector as Bijector,
    ConditionalBijector as ConditionalBijector,
)
from dataflow.distributions.cdf_bijectors import (
    Gumbel as Gumbel,
    Kumaraswamy as Kumaraswamy,
    Weibull as Weibull,
)
from dataflow.distributions.composed_bijectors import (
    Chain as Chain,
    Inline as Inline,
    Invert as Invert,
    RealNVP as RealNVP,
    real_nvp_default_template as real_nvp_default_template,
)
from dataflow.distributions.elementary_bijectors import (
    AbsoluteValue as AbsoluteValue,
    Exp as Exp,
    Identity as Identity,
    PowerTransform as PowerTransform,
    Sigmoid as Sigmoid,
    SinhArcsinh as SinhArcsinh,
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
    CholeskyOuterProduct as CholeskyOuterProduct,
    FillTriangular as FillTriangular,
    MatrixInverseTriL as MatrixInverseTriL,
    ScaleTriL as ScaleTriL,
    TransformDiagonal as TransformDiagonal,
)
from dataflow.distributions.vector_bijectors import (
    Ordered as Ordered,
    Permute as Permute,
    Reshape as Reshape,
    SoftmaxCentered as SoftmaxCentered,
)
