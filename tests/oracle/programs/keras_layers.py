# issue 5: tf.keras: the rarer layers, their shapes, their weights, and gradients through them
keras = tf.keras
layers = keras.layers
random = np.random.RandomState(0)
INPUTS = {
    "row": random.randn(3, 4),
    "steps": random.randn(2, 6, 3),
    "picture": random.randn(2, 6, 5, 3),
    "volume": random.randn(1, 4, 4, 4, 2),
}
CASES = {
    "Conv1D": ("steps", lambda: layers.Conv1D(2, 3, dilation_rate=2, padding="causal")),
    "Conv1D_strided": ("steps", lambda: layers.Conv1D(2, 3, strides=2, activation="elu")),
    "Conv2D_dilated": ("picture", lambda: layers.Conv2D(2, 2, dilation_rate=2)),
    "Conv2DTranspose": ("picture", lambda: layers.Conv2DTranspose(2, 3, strides=2)),
    "Conv2DTranspose_same": (
        "picture",
        lambda: layers.Conv2DTranspose(2, 3, strides=(2, 1), padding="same"),
    ),
    "Conv3D": ("volume", lambda: layers.Conv3D(2, 2)),
    "Conv3DTranspose": ("volume", lambda: layers.Conv3DTranspose(2, 2, strides=2)),
    "SeparableConv1D": ("steps", lambda: layers.SeparableConv1D(2, 3, depth_multiplier=2)),
    "SeparableConv2D": ("picture", lambda: layers.SeparableConv2D(2, 3, padding="same")),
    "DepthwiseConv2D": ("picture", lambda: layers.DepthwiseConv2D(3, depth_multiplier=2)),
    "DepthwiseConv2D_same": (
        "picture",
        lambda: layers.DepthwiseConv2D((2, 3), strides=2, padding="same", activation="relu"),
    ),
    "LocallyConnected1D": ("steps", lambda: layers.LocallyConnected1D(2, 3)),
    "LocallyConnected2D": ("picture", lambda: layers.LocallyConnected2D(2, (2, 3))),
    "Cropping1D": ("steps", lambda: layers.Cropping1D((1, 2))),
    "Cropping2D": ("picture", lambda: layers.Cropping2D(((1, 0), (2, 1)))),
    "Cropping3D": ("volume", lambda: layers.Cropping3D(((1, 0), (0, 1), (1, 1)))),
    "ZeroPadding1D": ("steps", lambda: layers.ZeroPadding1D((2, 1))),
    "ZeroPadding2D": ("picture", lambda: layers.ZeroPadding2D(((1, 0), (2, 1)))),
    "ZeroPadding3D": ("volume", lambda: layers.ZeroPadding3D((1, 0, 2))),
    "UpSampling1D": ("steps", lambda: layers.UpSampling1D(3)),
    "UpSampling2D": ("picture", lambda: layers.UpSampling2D((2, 3))),
    "UpSampling3D": ("volume", lambda: layers.UpSampling3D((1, 2, 2))),
    "MaxPooling1D": ("steps", lambda: layers.MaxPooling1D(2)),
    "MaxPooling3D": ("volume", lambda: layers.MaxPooling3D()),
    "AveragePooling1D": ("steps", lambda: layers.AveragePooling1D(3, 1, "same")),
    "AveragePooling2D": ("picture", lambda: layers.AveragePooling2D((2, 1))),
    "AveragePooling3D": ("volume", lambda: layers.AveragePooling3D(2, 1)),
    "GlobalMaxPooling1D": ("steps", lambda: layers.GlobalMaxPooling1D()),
    "GlobalAveragePooling1D": ("steps", lambda: layers.GlobalAveragePooling1D()),
    "GlobalMaxPooling2D": ("picture", lambda: layers.GlobalMaxPooling2D()),
    "GlobalMaxPooling3D": ("volume", lambda: layers.GlobalMaxPooling3D()),
    "GlobalAveragePooling3D": ("volume", lambda: layers.GlobalAveragePooling3D()),
    "PReLU": ("picture", lambda: layers.PReLU(shared_axes=[1, 2])),
    "PReLU_row": ("row", lambda: layers.PReLU()),
    "LeakyReLU": ("row", lambda: layers.LeakyReLU(0.1)),
    "ELU": ("row", lambda: layers.ELU(0.7)),
    "ThresholdedReLU": ("row", lambda: layers.ThresholdedReLU(0.5)),
    "ReLU": ("row", lambda: layers.ReLU(max_value=1.0, negative_slope=0.2, threshold=0.1)),
    "Softmax": ("picture", lambda: layers.Softmax(axis=1)),
    "Permute": ("picture", lambda: layers.Permute((3, 1, 2))),
    "Reshape": ("picture", lambda: layers.Reshape((-1, 5))),
    "RepeatVector": ("row", lambda: layers.RepeatVector(3)),
    "Flatten": ("volume", lambda: layers.Flatten()),
    "FlattenFirst": ("volume", lambda: layers.Flatten(data_format="channels_first")),
    "Masking": ("steps", lambda: layers.Masking(0.0)),
    "BatchNormalization": ("picture", lambda: layers.BatchNormalization(axis=1)),
    "LayerNormalization": ("steps", lambda: layers.LayerNormalization()),
    "ActivityRegularization": ("row", lambda: layers.ActivityRegularization(0.1, 0.2)),
    "Lambda": ("row", lambda: layers.Lambda(lambda t: t * t)),
    "Dense_steps": ("steps", lambda: layers.Dense(2, "selu", kernel_constraint="unit_norm")),
    "TimeDistributed": ("picture", lambda: layers.TimeDistributed(layers.Conv1D(2, 2))),
    "SpatialDropout3D": ("volume", lambda: layers.SpatialDropout3D(0.5)),
    "GaussianDropout": ("row", lambda: layers.GaussianDropout(0.5)),
    "AlphaDropout": ("row", lambda: layers.AlphaDropout(0.5)),
    "GaussianNoise": ("row", lambda: layers.GaussianNoise(0.5)),
}
for name, (what, make) in CASES.items():
    data = INPUTS[what].astype("float32")
    entry = keras.Input(data.shape[1:])
    layer = make()
    model = keras.Model(entry, layer(entry))
    seeds = np.random.RandomState(1)
    values = [np.abs(seeds.randn(*w.shape.as_list())) * 0.5 for w in model.weights]
    model.set_weights(values)
    result[name] = model.predict(data)
    result[name + "_shape"] = [layer.output_shape, [tuple(v.shape) for v in values]]
    gradient = tf.gradients(
        tf.reduce_sum(tf.square(model.output)), model.trainable_weights + [entry]
    )
    run = keras.backend.function([entry], gradient)
    result[name + "_gradients"] = run([data])
    again = type(layer).from_config(layer.get_config()) if name != "Lambda" else layer
    result[name + "_again"] = type(again).__name__

a, b = (keras.Input((4,)) for _ in range(2))
for name in ("add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate"):
    model = keras.Model([a, b], getattr(layers, name)([a, b]))
    result[name] = model.predict([INPUTS["row"], INPUTS["row"][::-1]])
for axes, normalize in ((1, False), ((1, 1), True)):
    model = keras.Model([a, b], layers.dot([a, b], axes, normalize=normalize))
    result[f"dot_{normalize}"] = model.predict([INPUTS["row"], INPUTS["row"][::-1]])
wide, narrow = keras.Input((6, 3)), keras.Input((3, 2))
model = keras.Model([wide, narrow], layers.Dot((2, 1))([wide, narrow]))
result["dot_steps"] = model.predict([INPUTS["steps"], INPUTS["steps"][:, :3, :2]])
