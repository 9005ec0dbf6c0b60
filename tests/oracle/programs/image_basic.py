# issue 5: image ops with fixed values
# tolerance 1e-4
x = tf.constant((np.arange(4 * 5 * 3) * 4 % 251).reshape(4, 5, 3), tf.uint8)
f = tf.image.convert_image_dtype(x, tf.float32)
batch = tf.expand_dims(f, 0)
out = {
    "convert": f,
    "convert_back": tf.image.convert_image_dtype(f, tf.uint8),
    "gray": tf.image.rgb_to_grayscale(f),
    "gray_int": tf.image.rgb_to_grayscale(x),
    "to_rgb": tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(f)),
    "flip_lr": tf.image.flip_left_right(x),
    "flip_ud": tf.image.flip_up_down(x),
    "transpose": tf.image.transpose_image(x),
    "rot90": tf.image.rot90(x),
    "rot90_3": tf.image.rot90(x, 3),
    "bilinear": tf.image.resize_bilinear(batch, [8, 10]),
    "bilinear_down": tf.image.resize_bilinear(batch, [2, 3]),
    "bilinear_align": tf.image.resize_bilinear(batch, [7, 9], align_corners=True),
    "nearest": tf.image.resize_nearest_neighbor(batch, [8, 3]),
    "bicubic": tf.image.resize_bicubic(batch, [6, 7]),
    "area": tf.image.resize_area(batch, [2, 2]),
    "resize_images": tf.image.resize_images(x, [2, 2]),
    "resize_method": tf.image.resize_images(
        batch, [3, 3], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR
    ),
    "crop_or_pad": tf.image.resize_image_with_crop_or_pad(x, 6, 3),
    "resize_pad": tf.image.resize_image_with_pad(f, 6, 6),
    "central": tf.image.central_crop(x, 0.5),
    "crop": tf.image.crop_to_bounding_box(x, 1, 2, 2, 3),
    "pad": tf.image.pad_to_bounding_box(x, 1, 1, 6, 7),
    "brightness": tf.image.adjust_brightness(f, 0.2),
    "contrast": tf.image.adjust_contrast(f, 2.0),
    "saturation": tf.image.adjust_saturation(f, 0.5),
    "hue": tf.image.adjust_hue(f, 0.1),
    "gamma": tf.image.adjust_gamma(f, 0.5),
    "standardize": tf.image.per_image_standardization(f),
    "hsv": tf.image.rgb_to_hsv(f),
    "rgb": tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(f)),
    "brightness_int": tf.image.adjust_brightness(x, 0.1),
    "crop_and_resize": tf.image.crop_and_resize(
        batch, [[0.0, 0.0, 0.5, 0.5], [0.2, 0.2, 1.0, 1.0]], [0, 0], [3, 3]
    ),
    "nms": tf.image.non_max_suppression(
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 5.0, 1.0, 6.0]], [0.9, 0.75, 0.6], 3
    ),
    "boxes": tf.image.draw_bounding_boxes(batch, [[[0.1, 0.1, 0.9, 0.9]]]),
    "gradients": tf.image.image_gradients(batch),
    "total_variation": tf.image.total_variation(batch),
    "psnr": tf.image.psnr(f, f * 0.9, 1.0),
    "glimpse": tf.image.extract_glimpse(batch, [2, 2], [[0.0, 0.0]]),
}
with tf.Session() as sess:
    for key, value in out.items():
        result[key] = sess.run(value)
        if isinstance(value, tf.Tensor):
            result[key + "_shape"] = shape_of(value)
    for name, op in (
        ("resize_bilinear", lambda t: tf.image.resize_bilinear(t, [3, 7])),
        ("nearest", lambda t: tf.image.resize_nearest_neighbor(t, [3, 7])),
    ):
        result[name + "_gradient"] = sess.run(tf.gradients(op(batch) ** 2, batch)[0])
    flipped = sess.run(tf.image.random_flip_left_right(x, seed=1))
    result["random_flip"] = bool(
        (flipped == sess.run(x)).all() or (flipped == sess.run(x)[:, ::-1]).all()
    )
    result["random_shapes"] = [
        list(sess.run(op).shape)
        for op in (
            tf.image.random_brightness(f, 0.2),
            tf.image.random_contrast(f, 0.5, 1.5),
            tf.image.random_saturation(f, 0.5, 1.5),
            tf.image.random_hue(f, 0.1),
            tf.image.random_flip_up_down(f),
        )
    ]
    begin, size, boxes = sess.run(
        tf.image.sample_distorted_bounding_box(
            [4, 5, 3], [[[0.0, 0.0, 1.0, 1.0]]], min_object_covered=0.1
        )
    )
    result["distorted"] = [list(begin.shape), list(size.shape), list(boxes.shape)]
result["crop_too_big"] = error_of(lambda: tf.image.crop_to_bounding_box(x, 3, 3, 4, 4))
result["rank"] = error_of(lambda: tf.image.resize_bilinear(f, [2, 2]))
