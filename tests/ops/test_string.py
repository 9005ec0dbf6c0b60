"""Strings: hashes against published values, mistakes at run time."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf
from dataflow.kernels.hashing import fingerprint64, sip_hash


def test_sip_hash_is_the_papers() -> None:
    """The test vector of appendix A of SipHash's paper."""
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert sip_hash(*key, bytes(range(15))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize(
    ("text", "expected"),
    # Every length class of FarmHash; numbers of TensorFlow 2.15.1's tf.fingerprint.
    [
        (b"", 0x9AE16A3B2F90404F),
        (b"Hello", int.from_bytes(bytes([135, 32, 107, 50, 30, 124, 200, 213]), "little")),
        (b"b" * 40, int.from_bytes(bytes([35, 74, 92, 138, 185, 93, 209, 177]), "little")),
    ],
)
def test_fingerprints_are_farmhashes(text: bytes, expected: int) -> None:
    assert fingerprint64(text) == expected


def test_fingerprints_over_all_lengths() -> None:
    """One sum over the lengths 0 to 139, 200, 300 and 1000, as TensorFlow 2.15.1 gives it."""
    texts = [
        b"a" * n if n % 3 else bytes(range(n % 256)) * (1 + n // 256)
        for n in [*range(140), 200, 300, 1000]
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        fast, old, strong = session.run(
            [
                tf.string_to_hash_bucket_fast(texts, 2**62),
                tf.string_to_hash_bucket(texts, 2**62),
                tf.string_to_hash_bucket_strong(texts, 2**62, [12, 2**61 + 5]),
            ]
        )
    assert [int(v.astype(object).sum()) for v in (fast, old, strong)] == SUMS


SUMS = [329366898694538261542, 344744094260211600085, 323829503586529842819]


@pytest.mark.parametrize("text", ["", "1.5.2", "1_000", "x", "0xG"])
def test_text_that_is_no_number_is_named(text: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert"):
            session.run(tf.string_to_number([text]))


def test_numbers_that_do_not_fit_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
            session.run(tf.string_to_number(["99999999999"], tf.int32))
        big = session.run(tf.string_to_number(["99999999999"], tf.int64))
        assert big.tolist() == [99999999999]


def test_mistakes_are_found() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="num_buckets"):
            tf.string_to_hash_bucket_fast(["a"], 0)
        with pytest.raises(ValueError, match="unit"):
            tf.substr(["a"], 0, 1, unit="WORD")
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(tf.substr(["abc"], 5, 1))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
            session.run(tf.regex_replace(["a"], "(", "b"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="base64"):
            session.run(tf.decode_base64(["a"]))
        with pytest.raises(ValueError, match="shapes differ"):
            tf.string_join([["a"], ["b", "c"]])


def test_scalars_and_variables_of_strings_work() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [])
        joined = tf.string_join([x, "!"])
        words = tf.string_split([x])
        assert session.run(joined, {x: "hi"}) == b"hi!"
        assert session.run(words, {x: "a b"}).values.tolist() == [b"a", b"b"]


@pytest.mark.parametrize("pos", [-5, -2, 0, 1, 2, 5])
@pytest.mark.parametrize("length", [-1, 0, 1, 2, 9])
def test_parts_at_one_place_are_those_at_equal_places(pos: int, length: int) -> None:
    texts = [b"abcde", b"vwxyz12"]
    expected = []
    for text in texts:
        first = pos if pos >= 0 else len(text) + pos
        expected.append(text[first : first + length] if length >= 0 else text[first:])
    with tf.Session() as session:
        assert session.run(tf.substr(texts, pos, length)).tolist() == expected
        assert session.run(tf.substr(texts, [pos] * 2, [length] * 2)).tolist() == expected


def test_numbers_that_do_not_fit_are_named() -> None:
    with tf.Session() as session:
        assert session.run(tf.string_to_number(["7", " -8 "], tf.int32)).tolist() == [7, -8]
        large = [str(2**63 - 1), str(-(2**63))]
        assert session.run(tf.string_to_number(large, tf.int64)).tolist() == [
            2**63 - 1,
            -(2**63),
        ]
        for text, dtype in (
            (str(2**31), tf.int32),
            (str(2**63), tf.int64),
            ("1_0", tf.int32),
            ("1_0", tf.float32),
            ("1.5", tf.int64),
            ("", tf.float32),
        ):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"string: {text}\n.*{dtype.name}"
            ):
                session.run(tf.string_to_number(["1", text], dtype))


def test_nothing_is_joined_to_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        for shape, axis in (([0, 2], 0), ([2, 0], 1)):
            joined = tf.reduce_join(tf.constant([], tf.string, shape=shape), axis)
            assert sess.run(joined).tolist() == [b"", b""]


def test_blanks_alone_are_zero_where_a_float_is_wanted() -> None:
    """TensorFlow 1.15: ``"7., , 0"`` is a record; an integer needs a digit."""
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.string_to_number([" ", "1.5", "  "])).tolist() == [0.0, 1.5, 0.0]
        assert sess.run(tf.string_to_number(" ", tf.float64)) == 0.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
            sess.run(tf.string_to_number([" "], tf.int32))
        defaults = [[-1.0], [-1.0], [-1]]
        records = ["7., ,0", "8.,,1", "0xA,2.5,2"]
        columns = sess.run(tf.decode_csv(records, defaults))
        assert [c.tolist() for c in columns] == [[7.0, 8.0, 10.0], [0.0, -1.0, 2.5], [0, 1, 2]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Field 2 in record 1"):
            sess.run(tf.decode_csv(["7.,1.,0", "7.,1., "], defaults))


def test_hexadecimal_numbers() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.string_to_number(["0xF", "1.5"])).tolist() == [15.0, 1.5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="0xG"):
            sess.run(tf.string_to_number(["0xG"]))


@pytest.mark.parametrize(
    ("text", "encoding", "options", "expected"),
    [
        (b"\x00*", "UTF-16", {}, b"*"),  # without a mark, the high byte comes first
        (b"\xff\xfe*\x00", "UTF-16", {}, b"*"),
        (b"\x00\x00\x00a", "UTF-32", {}, b"a"),
        (b"a\xef\xbf\xbd", "UTF-8", {"replacement_char": ord("?")}, b"a\xef\xbf\xbd"),
        (b"ab\xff", "UTF-8", {"replacement_char": ord("?")}, b"ab?"),
        (b"\x00\xfft", "UTF-8", {"errors": "ignore", "replace_control_characters": True}, b"t"),
        (b"a\tb", "UTF-8", {"replace_control_characters": True}, b"a\xef\xbf\xbdb"),
    ],
)
def test_transcoding(text: bytes, encoding: str, options: Any, expected: bytes) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        out = tf.strings.unicode_transcode(text, encoding, "UTF-8", **options)
        assert session.run(out) == expected


def test_control_characters_are_malformed_where_that_is_strict() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        out = tf.strings.unicode_transcode(
            b"a\n", "UTF-8", "UTF-8", errors="strict", replace_control_characters=True
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting"):
            session.run(out)


def test_str_and_bytes_in_one_list() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.constant(["a", b"\xf0\x9f"])).tolist() == [b"a", b"\xf0\x9f"]


def test_one_delimiter_and_one_shape_of_positions() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        delimiter = tf.placeholder(tf.string)
        words = tf.string_split(["a|b"], delimiter)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"scalar.*got shape \(1,\)"):
            session.run(words, {delimiter: ["|"]})
        with pytest.raises(ValueError, match=r"pos \[1\] and len \[\] must have the same shape"):
            tf.strings.substr(["abc"], [1], 1)
        position = tf.placeholder(tf.int32)
        part = tf.strings.substr(["abc"], position, 1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same shape"):
            session.run(part, {position: [1]})


def test_axes_that_strings_are_joined_along_must_be_there() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        axes, words = tf.placeholder(tf.int32), tf.placeholder(tf.string)
        joined = tf.reduce_join(["a", "b"], axis=axes)
        assert session.run(joined, {axes: [-1]}) == b"ab"
        for wrong in (-2, 1, 2, [0, 0], [-1, 0]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="reduction dimension"):
                session.run(joined, {axes: wrong})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate reduction dimension 1"):
            session.run(tf.reduce_join(words, axis=[-1, 1]), {words: [["a"]]})
