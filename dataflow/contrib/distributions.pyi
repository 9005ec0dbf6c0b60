from dataflow.distributions import (
    bijectors as bijectors,
)
from dataflow.distributions.combinations import (
    Independent as Independent,
    Mixture as Mixture,
    MixtureSameFamily as MixtureSameFamily,
)
from dataflow.distributions.deterministic import (
    Deterministic as Deterministic,
    VectorDeterministic as VectorDeterministic,
)
from dataflow.distributions.bounded import (
    Beta as Beta,
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
    Kumaraswamy as Kumaraswamy,
    Uniform as Uniform,
)
from dataflow.distributions.location_scale import (
    Cauchy as Cauchy,
    Gumbel as Gumbel,
    HalfNormal as HalfNormal,
    Laplace as Laplace,
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
    Logistic as Logistic,
    Normal as Normal,
    NormalWithSoftplusScale as NormalWithSoftplusScale,
)
from dataflow.distributions.student_t import (
    StudentT as StudentT,
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)
from dataflow.distributions.gamma import (
    Chi2 as Chi2,
    Chi2WithAbsDf as Chi2WithAbsDf,
    Exponential as Exponential,
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
    Gamma as Gamma,
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
    InverseGamma as InverseGamma,
    InverseGammaWithSoftplusConcentrationRate as InverseGammaWithSoftplusConcentrationRate,
)
from dataflow.distributions.categorical import (
    Bernoulli as Bernoulli,
    BernoulliWithSigmoidProbs as BernoulliWithSigmoidProbs,
    Categorical as Categorical,
    OneHotCategorical as OneHotCategorical,
)
from dataflow.distributions.conditional import (
    ConditionalDistribution as ConditionalDistribution,
)
from dataflow.distributions.counts import (
    Binomial as Binomial,
    Geometric as Geometric,
    Multinomial as Multinomial,
    NegativeBinomial as NegativeBinomial,
    Poisson as Poisson,
)
from dataflow.distributions.dirichlet import (
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
)
from dataflow.distributions.distribution import (
    Distribution as Distribution,
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from dataflow.distributions.kullback_leibler import (
    cross_entropy as cross_entropy,
    kl_divergence as kl_divergence,
    RegisterKL as RegisterKL,
)
from dataflow.distributions.multivariate import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalDiagPlusLowRank as MultivariateNormalDiagPlusLowRank,
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
    MultivariateNormalTriL as MultivariateNormalTriL,
    VectorExponentialDiag as VectorExponentialDiag,
    VectorLaplaceDiag as VectorLaplaceDiag,
)
from dataflow.distributions.derived import (
    BatchReshape as BatchReshape,
    QuantizedDistribution as QuantizedDistribution,
    SinhArcsinh as SinhArcsinh,
)
from dataflow.distributions.matrix_bijectors import (
    fill_triangular as fill_triangular,
    fill_triangular_inverse as fill_triangular_inverse,
    matrix_diag_transform as matrix_diag_transform,
    tridiag as tridiag,
)
from dataflow.distributions.statistics import (
    SeedStream as SeedStream,
    assign_log_moving_mean_exp as assign_log_moving_mean_exp,
    assign_moving_mean_variance as assign_moving_mean_variance,
    auto_correlation as auto_correlation,
    moving_mean_variance as moving_mean_variance,
    normal_conjugates_known_scale_posterior as normal_conjugates_known_scale_posterior,
    normal_conjugates_known_scale_predictive as normal_conjugates_known_scale_predictive,
    reduce_weighted_logsumexp as reduce_weighted_logsumexp,
)
from dataflow.distributions.wishart import (
    WishartCholesky as WishartCholesky,
    WishartFull as WishartFull,
)
from dataflow.distributions.normal_functions import (
    log_cdf_laplace as log_cdf_laplace,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
    percentile as percentile,
    softplus_inverse as softplus_inverse,
)
from dataflow.distributions.relaxed import (
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
    RelaxedBernoulli as RelaxedBernoulli,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from dataflow.distributions.transformed import (
    ConditionalTransformedDistribution as ConditionalTransformedDistribution,
    TransformedDistribution as TransformedDistribution,
)
