# issue 16: gradients that were None without a word, and those that nobody knows
"""Group 10: gradients that were None without a word; ops without one are a LookupError."""


def run(fetches):
    with tf.Session() as sess:
        return sess.run(fetches)


random = np.random.RandomState(0)
x = tf.constant(random.uniform(0.05, 1.0, [3, 4, 3]), tf.float32)
weights = tf.constant(np.random.RandomState(1).uniform(-1.0, 1.0, [3, 4, 3]), tf.float32)
grad = tf.gradients(tf.image.rgb_to_hsv(x) * weights, x)[0]
result["rgb_to_hsv"] = run(grad)
positive = tf.constant([0.3, 1.7, 0.4, 2.2])
matrix = tf.constant(random.uniform(0.1, 1.0, [3, 3]) + 2 * np.eye(3), tf.float32)
image = tf.constant(random.uniform(0.0, 1.0, [1, 4, 4, 2]), tf.float32)

known = {
    "rgb_to_yuv": (tf.image.rgb_to_yuv, x),
    "rgb_to_grayscale": (tf.image.rgb_to_grayscale, x),
    "gamma": (lambda t: tf.image.adjust_gamma(t, 2.0), x),
    "brightness": (lambda t: tf.image.adjust_brightness(t, 0.1) ** 2, x),
    "standardized": (lambda t: tf.image.per_image_standardization(t) * weights, x),
    "crop": (lambda t: tf.image.central_crop(t, 0.5) ** 2, image),
    "total_variation": (tf.image.total_variation, image),
    "sobel": (lambda t: tf.image.sobel_edges(t) ** 2, image),
    "turned": (lambda t: tf.image.rot90(t) * image, image),
    "psnr": (lambda t: tf.image.psnr(t, t * 0.9 + 0.05, 1.0), image),
    "patches": (
        lambda t: tf.extract_image_patches(t, [1, 2, 2, 1], [1] * 4, [1] * 4, "SAME") ** 2,
        image,
    ),
    "digamma": (tf.digamma, positive),
    "zeta": (lambda t: tf.zeta(t + 2.0, positive), positive),
    "igammac": (lambda t: tf.igammac(2.0, t), positive),
    "igamma_of_a": (lambda t: tf.igamma(t, 1.2), positive),
    "betainc": (lambda t: tf.betainc(2.0, 3.0, t / 3), positive),
    "cumprod": (tf.cumprod, positive),
    "floormod": (lambda t: tf.floormod(t, 0.7), positive),
    "segment_max": (lambda t: tf.segment_max(t, [0, 0, 1, 1]) ** 2, positive),
    "top_k": (lambda t: tf.nn.top_k(t, 2).values ** 2, positive),
    "sorted": (lambda t: tf.sort(t) * [1.0, 2.0, 3.0, 4.0], positive),
    "reversed": (lambda t: tf.reverse_sequence(t[None], [2], 1) * positive, positive),
    "log_determinant": (lambda t: tf.linalg.slogdet(t)[1], matrix),
    "cholesky": (lambda t: tf.cholesky(tf.matmul(t, t, transpose_b=True)), matrix),
    "exponential": (lambda t: tf.linalg.expm(t / 5), matrix),
    "triangular": (lambda t: tf.matrix_triangular_solve(t, matrix), matrix),
    "spectrum": (lambda t: tf.abs(tf.spectral.rfft(t)), positive),
    "angle": (lambda t: tf.angle(tf.complex(t, positive + 1.0)), positive),
}
for method in range(3):
    known[f"resized_{method}"] = (lambda t, m=method: tf.image.resize_images(t, [3, 5], m), image)
for name, (function, of) in known.items():
    y = function(of)
    result[f"known_{name}"] = run(tf.gradients(y * y, of)[0])

constant = {
    "hsv_to_rgb": (tf.image.hsv_to_rgb, x),
    "argmax": (lambda t: tf.cast(tf.argmax(t), tf.float32), positive),
    "bitcast": (lambda t: tf.cast(tf.bitcast(t, tf.int32), tf.float32), positive),
    "round": (tf.round, positive),
    "sign": (tf.sign, positive),
    "ceil": (tf.ceil, positive),
    "one_hot": (lambda t: tf.one_hot([0, 1], 3, t[0], t[1]), positive),
    "boxes": (lambda t: tf.image.draw_bounding_boxes(t, [[[0.1, 0.1, 0.8, 0.8]]]), image[..., :1]),
}
for name, (function, of) in constant.items():
    found = tf.gradients(function(of), of)[0]
    result[f"constant_{name}"] = None if found is None else run(found)
result["zero"] = run(
    tf.gradients(tf.stop_gradient(positive), positive, unconnected_gradients="zero")[0]
)

unknown = {
    "hue": (lambda t: tf.image.adjust_hue(t, 0.2), x),
    "saturation": (lambda t: tf.image.adjust_saturation(t, 1.3), x),
    "contrast": (lambda t: tf.image.adjust_contrast(t, 1.3), x),
    "area": (lambda t: tf.image.resize_images(t, [3, 5], 3), image),
    "unique": (lambda t: tf.unique(t)[0], positive),
    "truncatemod": (lambda t: tf.truncatemod(t, 0.7), positive),
    "logarithm": (
        lambda t: tf.real(tf.linalg.logm(tf.cast(t, tf.complex64))),
        matrix,
    ),
    "parallel_stack": (lambda t: tf.parallel_stack([t, t]), positive),
}
for name, (function, of) in unknown.items():
    result[f"unknown_{name}"] = error_of(lambda: tf.gradients(function(of), of))
