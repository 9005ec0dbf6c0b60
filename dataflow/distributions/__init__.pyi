from dataflow.distributions.bounded import Beta as Beta, Uniform as Uniform
from dataflow.distributions.gamma import Exponential as Exponential, Gamma as Gamma
from dataflow.distributions.location_scale import Laplace as Laplace, Normal as Normal
from dataflow.distributions.student_t import StudentT as StudentT
from dataflow.distributions.categorical import Bernoulli as Bernoulli, Categorical as Categorical
from dataflow.distributions.dirichlet import (
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
)
from dataflow.distributions.counts import Multinomial as Multinomial
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
