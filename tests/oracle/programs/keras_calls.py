# issue 16: layers that take several tensors, masks of numbers, both directions under a mask, builds from shapes
# tolerance 1e-4
K = tf.keras
L = K.layers
ones = K.initializers.Constant(0.1)
X = np.sin(np.arange(24)).reshape(2, 4, 3).astype(np.float32)
keep = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], np.float32)


class Plus(L.Layer):
    def call(self, first, second, third=None):
        for more in (third or {}).values():
            second = second + more
        return first + second


a, b = K.Input((3,)), K.Input((3,))
calls = {
    "by_position": lambda layer: layer(a, b),
    "by_name": lambda layer: layer(a, second=b),
    "in_a_dict": lambda layer: layer(a, b, third={"x": a}),
}
for how, call in calls.items():
    model = K.Model([a, b], call(Plus()))
    again = K.Model.from_config(model.get_config(), custom_objects={"Plus": Plus})
    fed = [np.full((2, 3), 3.0), np.full((2, 3), 7.0)]
    result[how] = [model.predict(fed), again.predict(fed)]

inputs, mask = K.Input((4, 3)), K.Input((4,))
cell = L.SimpleRNNCell(2, kernel_initializer=ones, recurrent_initializer=ones)
model = K.Model([inputs, mask], L.RNN(cell)(inputs, mask=mask))
result["mask_of_numbers"] = [model.predict([X, keep]), model.predict([X, 0 * keep])]

rnn = L.SimpleRNN(2, return_sequences=True, kernel_initializer=ones, recurrent_initializer=ones)
for mode in ("concat", "sum", "ave", "mul"):
    masked = L.Masking()(inputs)
    model = K.Model(inputs, L.Bidirectional(rnn, merge_mode=mode)(masked))
    result["both_" + mode] = model.predict(X * keep[:, :, None])


class Own(K.Model):
    def __init__(self):
        super().__init__()
        self.hidden = L.Dense(2, kernel_initializer=ones)
        self.norm = L.BatchNormalization()

    def call(self, x, training=None):
        return self.norm(self.hidden(x), training=training)


model = Own()
model.build((None, 3))
result["built"] = [w.shape.as_list() for w in model.weights]
result["values"] = model.predict(X[0])
for name, bad in (("none", None), ("number", 3)):
    try:
        Own().build(bad)
    except ValueError:
        result["refused_" + name] = True
