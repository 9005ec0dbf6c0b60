# issue 51: variables of optimizers of tf.keras, by name and by value, with whole gradients and rows
# tolerance 2e-4

Keras = tf.keras
optimizers = Keras.optimizers
schedule = optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
MADE = {
    "sgd": lambda: optimizers.SGD(0.1),
    "sgd clipped": lambda: optimizers.SGD(0.1, clipvalue=0.05),
    "momentum": lambda: optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True, decay=0.1),
    "adam": lambda: optimizers.Adam(0.05),
    "adam decay": lambda: optimizers.Adam(0.05, decay=0.2, name="Other"),
    "amsgrad": lambda: optimizers.Adam(0.05, amsgrad=True),
    "schedule": lambda: optimizers.Adam(schedule),
    "rmsprop": lambda: optimizers.RMSprop(0.05),
    "rmsprop centered": lambda: optimizers.RMSprop(0.05, centered=True),
    "rmsprop momentum": lambda: optimizers.RMSprop(0.05, momentum=0.8),
    "rmsprop both": lambda: optimizers.RMSprop(0.05, momentum=0.8, centered=True),
    "adagrad": lambda: optimizers.Adagrad(0.05),
    "adadelta": lambda: optimizers.Adadelta(0.5),
    "adamax": lambda: optimizers.Adamax(0.05),
    "nadam": lambda: optimizers.Nadam(0.05),
    "ftrl": lambda: optimizers.Ftrl(0.05, l1_regularization_strength=0.01),
    "ftrl shrinkage": lambda: optimizers.Ftrl(0.05, l2_shrinkage_regularization_strength=0.1),
}
x = np.array([[0, 1], [3, 1], [4, 4], [0, 3]])
y = np.array([[1.0], [-1.0], [0.5], [2.0]])


def model_of(optimizer):
    Keras.backend.clear_session()
    start = tf.constant_initializer(np.linspace(-0.5, 0.5, 12).reshape(6, 2))
    model = Keras.Sequential(
        [
            Keras.layers.Embedding(6, 2, input_length=2, embeddings_initializer=start),
            Keras.layers.Flatten(),
            Keras.layers.Dense(1, kernel_initializer="ones", name="out"),
        ]
    )
    model.compile(optimizer, "mse")
    return model


def names_of(variables):
    return [v.name.replace("embedding_1/", "embedding/") for v in variables]


for name, make in MADE.items():
    optimizer = make()
    model = model_of(optimizer)
    result[name + ": before"] = names_of(optimizer.weights)
    for _ in range(3):
        model.train_on_batch(x, y)
    result[name + ": weights"] = names_of(optimizer.weights)
    values = [*model.get_weights(), *optimizer.get_weights()]
    result[name + ": values"] = values
    result[name + ": variables"] = sorted(names_of(tf.global_variables()))
    result[name + ": slots"] = sorted(optimizer.get_slot_names())
    model.save_weights(tmp_dir + "/weights", save_format="tf")
    result[name + ": file"] = sorted(
        [key, list(shape)] for key, shape in tf.train.list_variables(tmp_dir + "/weights")
    )

    # The optimizer goes on where it was, though its variables are made later.
    other = model_of(make())
    other.load_weights(tmp_dir + "/weights")
    other.train_on_batch(x, y)
    model_again = [*other.get_weights(), *other.optimizer.get_weights()]
    result[name + ": one more step"] = model_again

adam = optimizers.Adam(0.3)
adam.beta_1 = 0.5
model = model_of(adam)
model.train_on_batch(x, y)
adam.beta_1 = 0.25
adam.lr = 0.125
config = adam.get_config()
result["changed"] = [float(config[key]) for key in ("beta_1", "learning_rate", "decay")]
result["read"] = [float(Keras.backend.get_value(v)) for v in (adam.beta_1, adam.lr)]
