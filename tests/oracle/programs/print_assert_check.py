# issue 3: Print, Assert and check_numerics
x = tf.placeholder(tf.float32, [None])
printed = tf.Print(x, [x, tf.shape(x)], message="here: ", first_n=2, summarize=3)
checked = tf.check_numerics(x, "bad x")
asserted = tf.Assert(tf.reduce_all(x > 0), [x], name="positive")
with tf.control_dependencies([asserted]):
    guarded = tf.identity(x)
verified = tf.verify_tensor_all_finite(x, "not finite")
with tf.Session() as sess:
    result["printed"] = sess.run(printed, {x: [1.0]})
    result["gradient"] = sess.run(tf.gradients(printed * 2.0, x), {x: [1.0]})
    result["check_good"] = sess.run(checked, {x: [1.0]})
    result["check_nan"] = error_of(lambda: sess.run(checked, {x: [np.nan]}))
    result["check_inf"] = error_of(lambda: sess.run(checked, {x: [np.inf]}))
    result["verify"] = error_of(lambda: sess.run(verified, {x: [np.nan]}))
    result["assert_good"] = sess.run(guarded, {x: [1.0]})
    result["assert_bad"] = error_of(lambda: sess.run(guarded, {x: [-1.0]}))
    for name, bad in (
        ("assert_equal", (1, 2)),
        ("assert_less", (3, 2)),
        ("assert_greater", (1, 2)),
        ("assert_less_equal", (3, 2)),
        ("assert_greater_equal", (1, 2)),
        ("assert_none_equal", (1, 1)),
    ):
        p = tf.placeholder(tf.int32, [])
        q = tf.placeholder(tf.int32, [])
        op = getattr(tf, name)(p, q)
        result[name] = error_of(lambda: sess.run(op, {p: bad[0], q: bad[1]}))
    for name, value in (
        ("assert_positive", -1),
        ("assert_negative", 1),
        ("assert_non_negative", -1),
        ("assert_non_positive", 1),
    ):
        p = tf.placeholder(tf.int32, [])
        op = getattr(tf, name)(p)
        result[name] = error_of(lambda: sess.run(op, {p: value}))
with tf.Graph().as_default(), tf.Session() as sess:
    z = tf.placeholder(tf.float32)
    root = tf.sqrt(z, name="root")
    all_checks = tf.add_check_numerics_ops()
    result["all_checks"] = [
        all_checks.type,
        error_of(lambda: sess.run(all_checks, {z: -1.0})),
        error_of(lambda: sess.run(all_checks, {z: 1.0})),
    ]
result["static_assert"] = error_of(lambda: tf.assert_equal(1, 2))
result["rank"] = error_of(lambda: tf.assert_rank(tf.zeros([2, 3]), 1))
result["rank_ok"] = error_of(lambda: tf.assert_rank(tf.zeros([2, 3]), 2))
result["type"] = error_of(lambda: tf.assert_type(tf.zeros([2]), tf.int32))
result["integer"] = error_of(lambda: tf.assert_integer(tf.zeros([2])))
result["scalar"] = error_of(lambda: tf.assert_scalar(tf.zeros([2])))
result["same_float"] = tf.assert_same_float_dtype([tf.zeros([1])]).name
result["is_numeric"] = [tf.is_numeric_tensor(tf.zeros([1])), tf.is_numeric_tensor(tf.constant("a"))]
with tf.Session() as sess:
    values = tf.constant([1.0, np.nan, np.inf, -np.inf])
    result["is"] = sess.run([tf.is_nan(values), tf.is_inf(values), tf.is_finite(values)])
result["print_names"] = [printed.op.type, asserted.type]
