# issue 5: one step of every cell with fixed weights
# tolerance 1e-4
C = tf.nn.rnn_cell
x = tf.constant(np.sin(np.arange(6)).reshape(2, 3), tf.float32)
initializer = tf.constant_initializer(0.3)
cells = {
    "basic": C.BasicRNNCell(4),
    "lstm": C.BasicLSTMCell(4),
    "lstm_forget": C.BasicLSTMCell(4, forget_bias=0.0, state_is_tuple=True),
    "lstm_full": C.LSTMCell(4),
    "peepholes": C.LSTMCell(4, use_peepholes=True),
    "projection": C.LSTMCell(4, num_proj=2, cell_clip=0.5),
    "gru": C.GRUCell(4),
    "multi": C.MultiRNNCell([C.BasicLSTMCell(4), C.GRUCell(3)]),
    "dropout": C.DropoutWrapper(C.GRUCell(4), output_keep_prob=1.0),
    "residual": C.ResidualWrapper(C.BasicRNNCell(3)),
    "device": C.DeviceWrapper(C.BasicRNNCell(4), "/cpu:0"),
    "activation": C.BasicRNNCell(4, activation=tf.nn.relu),
    "not_tuple": C.BasicLSTMCell(4, state_is_tuple=False),
}
outputs = {}
for name, cell in cells.items():
    with tf.variable_scope(name, initializer=initializer):
        state = cell.zero_state(2, tf.float32)
        y, state = cell(x, state)
        y, state = cell(x, state) if name != "residual" else (y, state)
        outputs[name] = (y, state)
    result[name + "_sizes"] = [str(cell.state_size), str(cell.output_size)]
result["variables"] = [(v.name, shape_of(v)) for v in tf.global_variables()]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for name, value in outputs.items():
        result[name] = sess.run(value)
state = C.LSTMStateTuple(tf.zeros([2, 4]), tf.ones([2, 4]))
result["state"] = [type(state).__name__, state._fields]
result["static"] = [shape_of(outputs["lstm"][0]), shape_of(outputs["lstm"][1].c)]
result["names"] = [outputs["lstm"][0].name, outputs["basic"][0].name]
