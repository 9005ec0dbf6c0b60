# issue 3: array ops, values and static shapes
x = tf.constant(np.arange(12).reshape(3, 4))
f = tf.constant(np.arange(12.0).reshape(3, 4), tf.float32)
out = {
    "concat_old_names": tf.concat(axis=0, values=[x, x]),
    "concat_scalar_axis": tf.concat([x, x], axis=-1),
    "stack": tf.stack([x, x], axis=-1),
    "parallel_stack": tf.parallel_stack([x, x]),
    "unstack": tf.unstack(x, axis=1),
    "split_equal": tf.split(x, 2, 1),
    "split_sizes": tf.split(x, [1, -1], 0),
    "reverse": tf.reverse(x, axis=[0, 1]),
    "reverse_sequence": tf.reverse_sequence(x, [1, 2, 3], seq_axis=1, batch_axis=0),
    "tile": tf.tile(x, [1, 2]),
    "pad": tf.pad(x, [[0, 1], [1, 0]], constant_values=9),
    "one_hot": tf.one_hot([0, 2, -1, 5], 3),
    "one_hot_options": tf.one_hot([[0, 1]], 3, on_value=5.0, off_value=-1.0, axis=1),
    "one_hot_int": tf.one_hot([1], 2, dtype=tf.int32),
    "where": tf.where(x > 5),
    "where_rows": tf.where([True, False, True], x, -x),
    "boolean_mask": tf.boolean_mask(x, x > 8),
    "boolean_mask_axis": tf.boolean_mask(x, [True, False, True, True], axis=1),
    "gather": tf.gather(x, [[2, 0]], axis=1),
    "gather_batch": tf.gather(x, [[0], [1], [3]], batch_dims=1),
    "gather_nd": tf.gather_nd(x, [[0, 0], [2, 3]]),
    "gather_nd_rows": tf.gather_nd(x, [[1]]),
    "batch_gather": tf.batch_gather(x, [[1], [2], [0]]),
    "unique": tf.unique([1, 1, 2, 4, 4, 4, 7, 8, 8]),
    "unique_counts": tf.unique_with_counts([1, 1, 2, 4]),
    "sequence_mask": tf.sequence_mask([1, 3, 2], 5),
    "sequence_mask_max": tf.sequence_mask([[1, 3], [2, 0]], dtype=tf.float32),
    "invert": tf.invert_permutation([3, 4, 0, 2, 1]),
    "setdiff": tf.setdiff1d([1, 2, 3, 4, 5, 6], [1, 3, 5]),
    "listdiff": tf.sets.difference(tf.constant([[1, 2, 3]]), tf.constant([[2, 9, 9]])).values,
    "meshgrid": tf.meshgrid([1, 2, 3], [4, 5]),
    "meshgrid_ij": tf.meshgrid([1, 2, 3], [4, 5], indexing="ij"),
    "diag": tf.diag([1.0, 2.0]),
    "diag_part": tf.diag_part(tf.constant([[1, 2], [3, 4]])),
    "matrix_diag": tf.matrix_diag([[1, 2], [3, 4]]),
    "band": tf.matrix_band_part(f, 1, 1),
    "set_diag": tf.matrix_set_diag(f, [-1.0, -2.0, -3.0]),
    "transpose": tf.transpose(x, perm=[1, 0]),
    "matrix_transpose": tf.matrix_transpose(tf.reshape(x, [1, 3, 4])),
    "depth_to_space": tf.depth_to_space(tf.reshape(x, [1, 1, 3, 4]), 2),
    "space_to_depth": tf.space_to_depth(tf.reshape(x, [1, 2, 6, 1]), 2),
    "space_to_batch": tf.space_to_batch_nd(tf.reshape(x, [1, 2, 6, 1]), [2, 3], [[0, 0], [0, 0]]),
    "batch_to_space": tf.batch_to_space(
        tf.reshape(x, [4, 1, 3, 1]), [[0, 0], [1, 0]], block_size=2
    ),
    "extract_patches": tf.extract_image_patches(
        tf.reshape(f, [1, 3, 4, 1]), [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
    ),
    "dynamic_partition": tf.dynamic_partition([10, 20, 30, 40], [0, 0, 1, 1], 2),
    "dynamic_stitch": tf.dynamic_stitch([[0, 2], [1, 3]], [[1, 2], [3, 4]]),
    "roll": tf.roll(x, [1, -1], [0, 1]),
    "sort": tf.sort([3, 1, 2], direction="DESCENDING"),
    "argsort": tf.argsort([3, 1, 2]),
    "searchsorted": tf.searchsorted([1, 3, 5], [0, 3, 9]),
    "repeat": tf.repeat([[1, 2], [3, 4]], [1, 2], axis=0),
    "histogram": tf.histogram_fixed_width([0.5, 1.5, 2.5, 2.6, 9.0], [0.0, 5.0], nbins=5),
    "bincount": tf.bincount([1, 1, 2, 5]),
    "quantize": tf.quantization.fake_quant_with_min_max_args([0.1, 5.0, 7.0]),
    "shape": tf.shape(x),
    "shape64": tf.shape(x, out_type=tf.int64),
    "shape_n": tf.shape_n([x, x]),
    "size": tf.size(x),
    "rank": tf.rank(x),
    "expand": tf.expand_dims(x, 1),
    "squeeze": tf.squeeze(tf.reshape(x, [1, 3, 1, 4]), axis=[0]),
    "squeeze_old": tf.squeeze(tf.reshape(x, [1, 3, 1, 4]), squeeze_dims=[2]),
    "edit_distance": tf.edit_distance(
        tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2]),
        tf.SparseTensor([[0, 0], [0, 1], [0, 2]], ["a", "c", "b"], [1, 3]),
    ),
    "confusion": tf.confusion_matrix([1, 2, 1], [1, 2, 0]),
    "ensure": tf.ensure_shape(x, [None, 4]),
    "guarantee": tf.guarantee_const(x),
    "broadcast_to": tf.broadcast_to([[1], [2]], [2, 3]),
    "unravel": tf.unravel_index([5, 7], [3, 4]),
    "required_space": tf.required_space_to_batch_paddings([3, 5], [2, 2])[0],
}
with tf.Session() as sess:
    for key, value in out.items():
        result[key] = sess.run(value)
        if isinstance(value, tf.Tensor):
            result[key + "_static"] = shape_of(value)
            result[key + "_name"] = value.name
result["split_uneven"] = error_of(lambda: tf.split(x, 5, 1))
result["concat_ranks"] = error_of(lambda: tf.concat([x, x[0]], 0))
result["stack_shapes"] = error_of(lambda: tf.stack([x, x[0]]))
result["reshape"] = error_of(lambda: tf.reshape(x, [5, 5]))
result["squeeze_bad"] = error_of(lambda: tf.squeeze(x, [0]))
result["axis"] = error_of(lambda: tf.reduce_sum(x, 5))
with tf.Session() as sess:
    result["gather_range"] = error_of(
        lambda: sess.run(tf.gather(x, tf.placeholder_with_default([9], [None])))
    )
