from dataflow.distributions.continuous import (
    Beta as Beta,
    Exponential as Exponential,
    Gamma as Gamma,
    Laplace as Laplace,
    Normal as Normal,
    StudentT as StudentT,
    Uniform as Uniform,
)
from dataflow.distributions.discrete import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
    Multinomial as Multinomial,
)
from dataflow.distributions.distribution import (
    Distribution as Distribution,
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from dataflow.distributions.kullback_leibler import (
    kl_divergence as kl_divergence,
    RegisterKL as RegisterKL,
)
