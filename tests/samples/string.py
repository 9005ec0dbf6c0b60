"""Samples of string ops. The hashes' numbers are TensorFlow's own (2.15.1, measured)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample


def _text(*items: Any) -> Any:
    return np.array(items, object)


def _text2(*rows: Any) -> Any:
    out = np.empty((len(rows), len(rows[0])), object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


def _parts(sp: Any) -> list[Any]:
    return [sp.indices, sp.values, sp.dense_shape]


SAMPLES = [
    Sample(
        "StringJoin", lambda tf: tf.string_join(["a", ["b", "c"]], "-"), (), [_text(b"a-b", b"a-c")]
    ),
    Sample(
        "ReduceJoin",
        lambda tf: tf.reduce_join([["a", "b"], ["c", "d"]], 0, keep_dims=True),
        (),
        [_text2([b"ac", b"bd"])],
    ),
    Sample(
        "ReduceJoin",
        lambda tf: tf.reduce_join([["a", "b"], ["c", "d"]], [0, 1], separator="."),
        (),
        [np.array(b"a.c.b.d", object)],
        note="order of axes",
    ),
    Sample(
        "UnsortedSegmentJoin",
        lambda tf: tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 3, separator=":"),
        (),
        [_text(b"b", b"a:c", b"")],
    ),
    Sample(
        "StringSplit",
        lambda tf: _parts(tf.string_split(["a b  c", "", "d,e"], ", ")),
        (),
        [[[0, 0], [0, 1], [0, 2], [2, 0], [2, 1]], _text(b"a", b"b", b"c", b"d", b"e"), [3, 3]],
    ),
    Sample(
        "StringSplit",
        lambda tf: _parts(tf.string_split(["ab"], "")),
        (),
        [[[0, 0], [0, 1]], _text(b"a", b"b"), [1, 2]],
        note="bytes",
    ),
    Sample(
        "StringSplitV2",
        lambda tf: _parts(tf.strings.split([" a b  c", "d"])),
        (),
        [[[0, 0], [0, 1], [0, 2], [1, 0]], _text(b"a", b"b", b"c", b"d"), [2, 3]],
    ),
    Sample(
        "StringSplitV2",
        lambda tf: tf.strings.split(["1,2,,3"], ",", maxsplit=2).values,
        (),
        [_text(b"1", b"2", b",3")],
        note="maxsplit",
    ),
    Sample(
        "Substr",
        lambda tf: tf.substr(["hello", "world"], [-3, 1], [2, 9]),
        (),
        [_text(b"ll", b"orld")],
    ),
    Sample(
        "Substr",
        lambda tf: tf.substr(["äöü"], 1, 1, unit="UTF8_CHAR"),
        (),
        [_text("ö".encode())],
        note="characters",
    ),
    Sample("StringLength", lambda tf: tf.strings.length(["äb", ""]), (), [[3, 0]]),
    Sample(
        "StringLength",
        lambda tf: tf.strings.length(["äb", ""], unit="UTF8_CHAR"),
        (),
        [[2, 0]],
        note="characters",
    ),
    Sample("StringLower", lambda tf: tf.strings.lower(["AbÄ"]), (), [_text("abÄ".encode())]),
    Sample(
        "StringUpper",
        lambda tf: tf.strings.upper(["abä"], encoding="utf-8"),
        (),
        [_text("ABÄ".encode())],
    ),
    Sample("StringStrip", lambda tf: tf.string_strip([" a b\n"]), (), [_text(b"a b")]),
    Sample(
        "RegexReplace",
        lambda tf: tf.regex_replace(["abcabc"], tf.constant("(b)(c)"), r"\2\1"),
        (),
        [_text(b"acbacb")],
    ),
    Sample(
        "StaticRegexReplace",
        lambda tf: tf.regex_replace(["abcabc"], "b", r"<\0>", replace_global=False),
        (),
        [_text(b"a<b>cabc")],
    ),
    Sample(
        "RegexFullMatch",
        lambda tf: tf.strings.regex_full_match(["abc", "abcd"], tf.constant("a.c")),
        (),
        np.array([True, False]),
    ),
    Sample(
        "StaticRegexFullMatch",
        lambda tf: tf.strings.regex_full_match(["abc", "ab"], "a.c"),
        (),
        np.array([True, False]),
    ),
    Sample(
        "StringToNumber",
        lambda tf: tf.string_to_number([" 1.5 ", "-2e3", "inf"]),
        (),
        np.array([1.5, -2000, np.inf], "f"),
    ),
    Sample(
        "StringToNumber",
        lambda tf: tf.string_to_number(["-7"], tf.int32),
        (),
        np.array([-7], np.int32),
        note="int32",
    ),
    Sample(
        "AsString",
        lambda tf: tf.as_string([1.5, 2.25], precision=1, width=5, fill="0"),
        (),
        [_text(b"001.5", b"002.2")],
    ),
    Sample(
        "AsString",
        lambda tf: tf.as_string([True, False]),
        (),
        [_text(b"true", b"false")],
        note="bool",
    ),
    Sample(
        "StringFormat",
        lambda tf: tf.strings.format(
            "x={} y={}", [tf.constant([1, 2, 3, 4, 5, 6, 7, 8]), tf.constant(["a"])]
        ),
        (),
        [np.array(b'x=[1 2 3 ... 6 7 8] y=["a"]', object)],
    ),
    Sample(
        "StringToHashBucketFast",
        lambda tf: tf.string_to_hash_bucket_fast(["Hello", "TensorFlow", "", "a" * 70], 1000),
        (),
        [[151, 254, 263, 88]],
    ),
    Sample(
        "StringToHashBucketStrong",
        lambda tf: tf.string_to_hash_bucket_strong(["Hello", "TF"], 1000, [1, 2]),
        (),
        [[274, 201]],
    ),
    Sample(
        "StringToHashBucket",
        lambda tf: tf.string_to_hash_bucket(["Hello", "TensorFlow", ""], 1000),
        (),
        [[941, 232, 899]],
    ),
    Sample(
        "Fingerprint",
        lambda tf: tf.fingerprint(tf.constant(["Hello", "b" * 40])),
        (),
        [[[135, 32, 107, 50, 30, 124, 200, 213], [35, 74, 92, 138, 185, 93, 209, 177]]],
    ),
    Sample(
        "SdcaFprint",
        lambda tf: raw(tf, "SdcaFprint", input=["abc", "very looooooong string", "def"]),
        (),
        [
            [
                [4143508125394299908, -6879828354153669051],
                [5849691694103072671, -4874542629849009556],
                [603227410218889250, 8762207001949257490],
            ]
        ],
    ),
    Sample("EncodeBase64", lambda tf: tf.encode_base64(["hello?>~"]), (), [_text(b"aGVsbG8_Pn4")]),
    Sample("DecodeBase64", lambda tf: tf.decode_base64(["aGVsbG8_Pn4"]), (), [_text(b"hello?>~")]),
    Sample(
        "UnicodeTranscode",
        lambda tf: tf.strings.unicode_transcode(["äb"], "UTF-8", "UTF-16-BE"),
        (),
        [_text("äb".encode("utf-16-be"))],
    ),
    Sample(
        "EditDistance",
        lambda tf: tf.edit_distance(
            tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2]),
            tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "c", "x"], [2, 3]),
        ),
        (),
        np.array([1.0, 0.5], "f"),
    ),
    Sample(
        "EditDistance",
        lambda tf: raw(
            tf,
            "EditDistance",
            hypothesis_indices=np.array([[0, 0]]),
            hypothesis_values=["a"],
            hypothesis_shape=np.array([1, 1]),
            truth_indices=np.zeros((0, 2), np.int64),
            truth_values=np.zeros(0, object),
            truth_shape=np.array([1, 0]),
        ),
        (),
        np.array([np.inf], np.float32),
        note="empty truth",
    ),
    Sample(
        "UnicodeDecode",
        lambda tf: tf.strings.unicode_decode(["é", "ab"], "UTF-8").values,
        (),
        [[233, 97, 98]],
    ),
    Sample(
        "UnicodeDecode",
        lambda tf: tf.strings.unicode_decode("aé", "UTF-8"),
        (),
        [[97, 233]],
        note="scalar",
    ),
    Sample(
        "UnicodeDecodeWithOffsets",
        lambda tf: [
            part.values for part in tf.strings.unicode_decode_with_offsets(["aé", "日x"], "UTF-8")
        ],
        (),
        [np.array([97, 233, 26085, 120]), np.array([0, 1, 0, 3])],
    ),
    Sample(
        "UnicodeDecodeWithOffsets",
        lambda tf: list(tf.strings.unicode_decode_with_offsets(b"a\xffb", "UTF-8", "replace", 63)),
        (),
        [np.array([97, 63, 98]), np.array([0, 1, 2])],
        note="bytes that are no text",
    ),
    Sample(
        "UnicodeEncode",
        lambda tf: tf.strings.unicode_encode([[97, 233], [26085, 0xD800]], "UTF-8"),
        (),
        [_text("aé".encode(), "日\ufffd".encode())],
    ),
    Sample(
        "UnicodeEncode",
        lambda tf: tf.strings.unicode_encode([97, 233], "UTF-16-BE"),
        (),
        [np.array("aé".encode("utf-16-be"), object)],
        note="one text",
    ),
    Sample(
        "StringNGrams",
        lambda tf: raw(
            tf,
            "StringNGrams",
            data=["a", "b", "c", "d"],
            data_splits=np.array([0, 3, 4]),
            separator="-",
            ngram_widths=[2],
            left_pad="<",
            right_pad=">",
            pad_width=-1,
            preserve_short_sequences=False,
        )[0],
        (),
        [_text(b"<-a", b"a-b", b"b-c", b"c->", b"<-d", b"d->")],
    ),
    Sample(
        "StringNGrams",
        lambda tf: tf.strings.ngrams(["a", "b", "c"], 2),
        (),
        [_text(b"a b", b"b c")],
        note="vector",
    ),
]
