# issue 3: string ops
s = tf.constant(["hello world", "a b  c", ""])
out = {
    "split": tf.string_split(s),
    "split_comma": tf.string_split(["a,b", "c"], delimiter=","),
    "split_keep": tf.string_split(["a b  c"], skip_empty=False),
    "join": tf.string_join([["a", "b"], ["c", "d"]], separator="-"),
    "reduce_join": tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator=","),
    "reduce_join_all": tf.reduce_join([["a", "b"], ["c", "d"]]),
    "to_number": tf.string_to_number(["1.5", "-2", "3e2"]),
    "to_int": tf.string_to_number(["7"], tf.int32),
    "as_string": tf.as_string([1, 20]),
    "as_string_float": tf.as_string([1.5, 2.25], precision=2),
    "as_string_bool": tf.as_string([True, False]),
    "as_string_fill": tf.as_string([7], width=3, fill="0"),
    "substr": tf.substr(["hello", "world"], 1, 3),
    "substr_each": tf.substr(["hello", "world"], [0, 2], [2, 2]),
    "substr_negative": tf.substr(["hello"], -3, 2),
    "length": tf.strings.length(["a", "", "abc", "é"]),
    "length_chars": tf.strings.length(["é"], unit="UTF8_CHAR"),
    "strip": tf.strings.strip(["  a ", "b"]),
    "lower": tf.strings.lower(["AbC"]),
    "upper": tf.strings.upper(["AbC"]),
    "regex": tf.regex_replace(["a1b22"], "[0-9]+", "#"),
    "regex_first": tf.regex_replace(["a1b22"], "[0-9]+", "#", replace_global=False),
    "match": tf.strings.regex_full_match(["abc", "abd"], "ab[cx]"),
    "hash_fast": tf.string_to_hash_bucket_fast(["a", "hello", ""], 1000),
    "hash": tf.string_to_hash_bucket(["a", "hello"], 1000),
    "hash_strong": tf.string_to_hash_bucket_strong(["a", "hello"], 1000, [1, 2]),
    "encode": tf.encode_base64(["hello"]),
    "decode": tf.decode_base64(["aGVsbG8"]),
    "equal": tf.equal(s, "a b  c"),
    "decode_raw": tf.decode_raw(["\x01\x02\x03\x04"], tf.uint8),
    "decode_raw16": tf.decode_raw(["\x01\x02\x03\x04"], tf.int16),
    "decode_raw_big": tf.decode_raw(["\x01\x02"], tf.int16, little_endian=False),
    "split_v2": tf.strings.split(["a b", "c"], sep=" ", result_type="SparseTensor"),
    "concat": tf.constant(["a"]) + tf.constant(["b"]),
    "unicode": tf.strings.unicode_decode(["é"], "UTF-8").values,
    "format": tf.strings.format("x = {}", [tf.constant([1, 2])]),
    "gather": tf.gather(s, [1]),
    "unique": tf.unique(["a", "b", "a"]),
    "reshape": tf.reshape(s, [3, 1]),
    "where": tf.where([True, False, True], s, s[::-1]),
    "ngrams": tf.strings.ngrams(["a", "b", "c"], 2).flat_values
    if hasattr(tf.strings.ngrams(["a", "b", "c"], 2), "flat_values")
    else tf.strings.ngrams(["a", "b", "c"], 2),
    "read": tf.string_join(["x", "y"]),
}
with tf.Session() as sess:
    for key, value in out.items():
        result[key] = sess.run(value)
        if isinstance(value, tf.Tensor):
            result[key + "_shape"] = shape_of(value)
            result[key + "_name"] = value.name
    result["bad_number"] = error_of(lambda: sess.run(tf.string_to_number(["x"])))
    result["substr_range"] = error_of(lambda: sess.run(tf.substr(["abc"], 9, 1)))
    result["bad_base64"] = error_of(lambda: sess.run(tf.decode_base64(["***"])))
    result["bad_regex"] = error_of(lambda: sess.run(tf.regex_replace(["a"], "(", "b")))
