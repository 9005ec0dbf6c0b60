# issue 16: values, moments, divergences and shapes of tf.distributions
d = tf.distributions
x = np.array([0.2, 0.5, 0.9], np.float32)
wide = np.array([-15.0, -1.5, 0.3, 2.0, 9.0], np.float32)[:, None]
made = {
    "normal": (d.Normal([0.0, 1.5], [1.0, 0.5]), wide),
    "laplace": (d.Laplace([0.0, 1.5], [1.0, 0.5]), wide),
    "student": (d.StudentT(3.5, [0.0, 1.0], [1.0, 2.0]), wide),
    "uniform": (d.Uniform([0.0, 0.3], [1.0, 3.0]), wide),
    "gamma": (d.Gamma([2.0, 3.5], [1.0, 0.5]), x[:, None]),
    "exponential": (d.Exponential([0.5, 2.0]), x[:, None]),
    "beta": (d.Beta(2.0, 1.5), x),
    "bernoulli": (d.Bernoulli(logits=[-1.0, 0.0, 2.0]), np.array([[0], [1]])),
    "bernoulli_probs": (d.Bernoulli(probs=[0.2, 0.7]), np.array([[0], [1]])),
    "categorical": (
        d.Categorical(logits=[[0.1, 1.0, -1.0], [2.0, 0.0, 0.0]]),
        np.array([[0, 1], [2, 2]]),
    ),
    "categorical_probs": (d.Categorical(probs=[0.1, 0.6, 0.3]), np.array([0, 1, 2, 1])),
    "multinomial": (
        d.Multinomial([4.0, 4.0], probs=[[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]),
        np.array([1.0, 1.0, 2.0], np.float32),
    ),
    "dirichlet": (d.Dirichlet([2.0, 3.0, 1.5]), np.array([0.2, 0.3, 0.5], np.float32)),
    "dirichlet_multinomial": (
        d.DirichletMultinomial(4.0, [[2.0, 3.0, 1.5], [1.2, 4.0, 2.0]]),
        np.array([1.0, 1.0, 2.0], np.float32),
    ),
    "float64": (d.Normal(np.float64(0.5), np.float64(2.0)), np.linspace(-40.0, 20.0, 7)),
}
others = {
    "normal": d.Normal(0.3, 2.0),
    "gamma": d.Gamma(1.5, 2.0),
    "exponential": d.Exponential(1.5),
    "beta": d.Beta(1.2, 2.0),
    "bernoulli": d.Bernoulli(logits=0.5),
    "categorical": d.Categorical(logits=[0.4, 0.2, 0.1]),
    "dirichlet": d.Dirichlet([1.0, 2.0, 3.0]),
}
statistics = ("mean", "mode", "variance", "stddev", "entropy", "covariance")
functions = ("log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function")
with tf.Session() as sess:
    for key, (dist, value) in made.items():
        result[f"{key}/what"] = [
            dist.dtype.name,
            dist.batch_shape.as_list(),
            dist.event_shape.as_list(),
            dist.name,
            str(dist.reparameterization_type),
            dist.validate_args,
            dist.allow_nan_stats,
            sorted(dist.parameters),
            shape_of(dist.sample([2, 3])),
            shape_of(dist.sample()),
            shape_of(dist.sample(4)),
        ]
        result[f"{key}/shapes"] = sess.run(
            [
                dist.batch_shape_tensor(),
                dist.event_shape_tensor(),
                dist.is_scalar_event(),
                dist.is_scalar_batch(),
            ]
        )
        for name in (*statistics, *functions):
            try:
                tensor = getattr(dist, name)(*([value] if name in functions else []))
                result[f"{key}/{name}"] = sess.run(tensor)
            except NotImplementedError:
                result[f"{key}/{name}"] = "NotImplementedError"
        drawn = dist.sample(20000, seed=3)
        values = sess.run(drawn)
        result[f"{key}/drawn"] = [str(values.dtype), list(values.shape)]
        try:
            mean, stddev = sess.run([dist.mean(), dist.stddev()])
            finite = np.isfinite(stddev)
            off = np.abs(values.mean(0) - mean)[finite] / stddev[finite]
            result[f"{key}/sample_mean"] = bool((off < 0.05).all())
            result[f"{key}/sample_stddev"] = bool(
                (np.abs(values.std(0) / stddev - 1) < 0.25)[finite].all()
            )
        except NotImplementedError:
            result[f"{key}/sample_mean"] = np.round(
                [(values == i).mean(0) for i in range(3)], 1
            ).shape
    for key, other in others.items():
        a = made[key][0]
        result[f"{key}/kl"] = sess.run(d.kl_divergence(a, other))
        result[f"{key}/kl_itself"] = sess.run(a.kl_divergence(a))
        result[f"{key}/cross_entropy"] = sess.run(a.cross_entropy(other))
    result["quantile"] = sess.run([made["normal"][0].quantile(0.3)])
    loc, scale = tf.constant(0.5), tf.constant(2.0)
    normal = d.Normal(loc, scale)
    for key, ys in {
        "log_prob": normal.log_prob(1.5),
        "log_cdf": normal.log_cdf([-50.0, 0.0, 30.0]),
        "kl": d.kl_divergence(normal, d.Normal(0.0, 1.0)),
        "entropy": normal.entropy(),
    }.items():
        result[f"gradient/{key}"] = [
            g if g is None else sess.run(g) for g in tf.gradients(ys, [loc, scale])
        ]
    result["gradient/samples"] = [
        bool(abs(sess.run(g) - e) < 0.1)
        for g, e in zip(
            tf.gradients(tf.reduce_mean(normal.sample(20000, seed=1)), [loc, scale]), (1.0, 0.0)
        )
    ]
    logits = tf.constant([[0.1, 0.4, 0.2]])
    policy = d.Categorical(logits=logits)
    result["gradient/policy"] = sess.run(
        tf.gradients(policy.log_prob([2]) * 3.0 + 0.1 * policy.entropy(), logits)
    )
    result["gradient/no_samples"] = [
        g is None
        for g in tf.gradients(d.Categorical(logits=logits).log_prob(policy.sample()), logits)
    ]
    unknown = tf.placeholder(tf.float32, None)
    flexible = d.Normal(unknown, 1.0)
    result["unknown/shape"] = [shape_of(flexible.sample(3)), str(flexible.batch_shape)]
    result["unknown/run"] = [
        list(v.shape)
        for v in sess.run(
            [flexible.sample([2, 3]), flexible.log_prob(0.0), flexible.mean()],
            {unknown: np.ones([4, 5])},
        )
    ]
    result["nan"] = sess.run(
        [
            d.StudentT(1.0, 0.0, 1.0).mean(),
            d.Gamma(0.5, 1.0).mode(),
            d.StudentT(1.5, 0.0, 1.0).variance(),
        ]
    )
    result["errors"] = {
        "no_nan": error_of(
            lambda: sess.run(d.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).mean())
        ),
        "validate": error_of(lambda: sess.run(d.Normal(0.0, -1.0, validate_args=True).mean())),
        "validate_value": error_of(
            lambda: sess.run(d.Gamma(2.0, 1.0, validate_args=True).log_prob(-1.0))
        ),
        "both": error_of(lambda: d.Bernoulli(logits=0.0, probs=0.5)),
        "neither": error_of(lambda: d.Categorical()),
        "shapes": error_of(lambda: d.Normal([0.0, 1.0, 2.0], [1.0, 2.0]).batch_shape),
        "integers": error_of(lambda: d.Normal(0, 1)),
        "kl": error_of(lambda: d.kl_divergence(normal, policy)),
        "mean": error_of(lambda: policy.mean()),
        "again": error_of(lambda: d.RegisterKL(d.Normal, d.Normal)(lambda a, b, name=None: 0)),
        "no_function": error_of(lambda: d.RegisterKL(d.Normal, d.Beta)("no")),
    }
    result["copy"] = [
        normal.copy(scale=3.0).parameters["scale"],
        sess.run(normal.copy(scale=3.0).stddev()),
    ]
    result["param_shapes"] = [
        sess.run(d.Normal.param_shapes([2, 3]))["loc"],
        d.Normal.param_static_shapes([2, 3])["scale"].as_list(),
    ]


class Triangle(d.Distribution):
    def __init__(self):
        super().__init__(tf.float32, d.NOT_REPARAMETERIZED, False, True, name="Triangle")

    def _batch_shape(self):
        return tf.TensorShape([])

    def _event_shape(self):
        return tf.TensorShape([])

    def _batch_shape_tensor(self):
        return tf.constant([], tf.int32)

    _event_shape_tensor = _batch_shape_tensor

    def _prob(self, x):
        return 2.0 * x

    def _cdf(self, x):
        return x * x

    def _variance(self):
        return tf.constant(1.0 / 18.0)

    def _sample_n(self, n, seed=None):
        return tf.sqrt(tf.random_uniform([n], seed=seed))


own = Triangle()


@d.RegisterKL(Triangle, d.Uniform)
def kl_triangle_uniform(a, b, name=None):
    return tf.constant(0.25)


with tf.Session() as sess:
    result["own"] = sess.run(
        [
            own.log_prob(0.3),
            own.survival_function(0.5),
            own.log_cdf(0.5),
            own.stddev(),
            d.kl_divergence(own, d.Uniform()),
        ]
    )
    result["own/sample"] = [shape_of(own.sample([2, 3])), own.name]
