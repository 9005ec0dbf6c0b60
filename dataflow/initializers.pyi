from dataflow.ops.initializers import (
    Constant as constant,
    get_initializer as get,
    GlorotNormal as glorot_normal,
    GlorotUniform as glorot_uniform,
    he_normal as he_normal,
    he_uniform as he_uniform,
    Identity as identity,
    Initializer as Initializer,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
    Ones as ones,
    Orthogonal as orthogonal,
    RandomNormal as random_normal,
    RandomUniform as random_uniform,
    TruncatedNormal as truncated_normal,
    UniformUnitScaling as uniform_unit_scaling,
    VarianceScaling as variance_scaling,
    Zeros as zeros,
)
from dataflow.ops.variable_lists import (
    global_variables_initializer as global_variables,
    local_variables_initializer as local_variables,
    variables_initializer as variables,
)
from dataflow.ops.lookup_tables import tables_initializer as tables_initializer
