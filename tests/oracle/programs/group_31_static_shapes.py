# issue 16: static shapes and dimensions
"""Group 31: static shapes of crops, batches of space and padding; arithmetic of Dimension."""

unknown = tf.placeholder(tf.float32)
crops = [[0, 0], [0, 0]]
result["batch_to_space"] = shape_of(tf.batch_to_space(unknown, crops, block_size=2))
result["space_to_batch"] = shape_of(tf.space_to_batch(unknown, crops, block_size=2))
result["crop"] = shape_of(tf.image.crop_to_bounding_box(unknown, 0, 0, 2, 3))
result["pad"] = shape_of(tf.image.pad_to_bounding_box(unknown, 0, 0, 2, 3))
result["crop_or_pad"] = shape_of(tf.image.resize_image_with_crop_or_pad(unknown, 2, 3))
result["with_pad"] = shape_of(tf.image.resize_image_with_pad(unknown, 2, 3))
result["central"] = error_of(lambda: tf.image.central_crop(unknown, 0.5))
text = tf.placeholder(tf.string)
result["jpeg"] = shape_of(tf.image.decode_and_crop_jpeg(text, [0, 0, 2, 3], channels=3))
partly = tf.stack([[1, tf.placeholder(tf.int32, [])], [2, 3]])
result["partly_padded"] = shape_of(tf.pad(tf.ones([2, 3]), partly))
image = tf.placeholder(tf.float32, [None, 3, 8, 8])
kernel = tf.ones([3, 3, 3, 5])
dilated = tf.nn.conv2d(image, kernel, 1, "SAME", data_format="NCHW", dilations=[1, 1, 2, 2])
result["dilated"] = shape_of(dilated)
three = tf.Dimension(3)
result["remainder"] = [int(5 % three), int(7 // three), int(2 * three), int(10 - three)]
with tf.Session() as sess:
    result["sizes"] = sess.run(tf.constant([10, tf.Dimension(20)], dtype=tf.int32))
result["list_and_shape"] = shape_of([1] + tf.TensorShape([2]))
result["in_common"] = shape_of(tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4]))
result["compare"] = [three != None, three == 3, three == tf.Dimension(None), three < 4]
result["unknown_plus"] = (tf.Dimension(None) + 3).value
result["shape_text"] = [str(tf.TensorShape([None, 3])), repr(three), str(tf.TensorShape(None))]
