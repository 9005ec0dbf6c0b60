"""Regular expressions: one result from three engines, and none of them can be made to take long."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import dataflow as tf
from dataflow.kernels import regex_syntax, regular_expressions
from dataflow.kernels.regex_automaton import Automaton
from dataflow.kernels.regular_expressions import RegularExpression

Compile = Callable[[bytes], RegularExpression]


@pytest.fixture(params=["any", "re", "automaton", "google-re2"])
def compile_with(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Compile:
    """Compiles with one of the engines alone, or as the kernels choose among them."""
    engine = request.param
    if engine == "google-re2":
        pytest.importorskip("re2", reason="pip install 'dataflow-learn[regex]'")
    if engine in ("re", "automaton"):
        monkeypatch.setattr(regular_expressions, "_google", lambda: None)
    if engine in ("automaton", "google-re2"):
        monkeypatch.setattr(RegularExpression, "_few_steps", lambda *_: False)
    return RegularExpression


# Each of TensorFlow 2.15's regex_replace (RE2).
REPLACED = [
    ("abb", "b*", "x", b"xax"),
    ("abc", "", "-", b"-a-b-c-"),
    ("aéb", "", "-", "-a-é-b-".encode()),
    (b"a\xffb", "", "-", b"-a-\xff-b-"),
    (b"a\xffb", ".", "-", b"-\xff-"),
    (b"a\xffb", "[^a]", "-", b"a\xff-"),
    ("abc", "(?P<n>b)", r"<\1>", b"a<b>c"),
    ("abc", "b", r"\\\0", rb"a\bc"),
    ("x\ny", "^y", "-", b"x\ny"),
    ("x\ny", "(?m)^y", "-", b"x\n-"),
    ("x\n", "x$", "-", b"x\n"),
    ("a\vb", r"\s", "-", b"a\vb"),
    ("\u212a", "(?i)k", "-", b"-"),
    ("ſ", "(?i)s", "-", b"-"),
    ("٣é", r"\d|\w", "-", "٣é".encode()),
    ("é", r"\pL", "-", b"-"),
    ("ab", "(a|ab)(c|bcd)?", r"[\0]", b"[a]b"),
    ("aaa", "a{,2}", "-", b"aaa"),
    ("a]b", "[]a]", "-", b"--b"),
    ("ab", r"\Qa\Eb", "-", b"-"),
    ("abab", "(?U)a.*b", "-", b"--"),
    ("a\0b", "\0", "-", b"a-b"),
    ("a{", "a{", "x", b"x"),
    ("a", r"\z", "x", b"ax"),
    ("ab", r"\b", "|", b"|ab|"),
    ("aB", "[[:lower:]]", "x", b"xB"),
    ("abc", "(b)?c|a", r"<\1>", b"<><b>"),
    ("abc", "(|a)+", "-", b"-a-b-c-"),
    ("aab", "(a*)+", r"<\1>", b"<aa>b<>"),
    ("aab", "(a*)*b", r"<\1>", b"<aa>"),
    ("abcabc", "(?:(a)|b|c)+", r"<\1>", b"<a>"),
]


@pytest.mark.parametrize(("text", "pattern", "rewrite", "expected"), REPLACED)
def test_replacing_is_tensorflows(
    compile_with: Compile, text: str | bytes, pattern: str, rewrite: str, expected: bytes
) -> None:
    as_bytes = text.encode() if isinstance(text, str) else text
    assert compile_with(pattern.encode()).replace(as_bytes, rewrite.encode()) == expected


def test_the_first_match_alone(compile_with: Compile) -> None:
    assert compile_with(b"[0-9]+").replace(b"a1b22", b"#", every=False) == b"a#b22"
    assert compile_with("é*".encode()).replace("éaé".encode(), b"#", every=False) == "#aé".encode()


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("ab", "a|ab", True),
        ("ab\n", "ab", False),
        ("ab\n", "ab$", False),
        ("a\nb", "a.b", False),
        ("a\nb", "(?s)a.b", True),
        ("ab", "^ab$", True),
        ("", "", True),
        ("aé", "..", True),
    ],
)
def test_full_matches_are_tensorflows(
    compile_with: Compile, text: str, pattern: str, expected: bool
) -> None:
    assert compile_with(pattern.encode()).matches_whole(text.encode()) is expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (b"(", "missing )"),
        (b"a)", "unexpected )"),
        (b"(?=a)", "invalid perl operator: (?="),
        (b"(?<!a)", "invalid perl operator: (?<"),
        (b"(?i", "invalid perl operator: (?i"),
        (rb"(a)\1", r"invalid escape sequence: \1"),
        (rb"a\Z", r"invalid escape sequence: \Z"),
        (b"a{1001}", "invalid repetition size: {1001}"),
        (b"((a{100}){100}){100}", "invalid repetition size: {100}"),
        (b"a**", "bad repetition operator: **"),
        (b"*", "no argument for repetition operator: *"),
        (b"[b-a]", "invalid character class range: b-a"),
        (b"[a", "missing ]: [a"),
        (b"[[:foo:]]", "invalid character class range: [:foo:]"),
        (b"\xff", "invalid UTF-8"),
        (b"a\\", "trailing \\"),
    ],
)
def test_bad_patterns_are_named_in_re2s_words(
    compile_with: Compile, pattern: bytes, reason: str
) -> None:
    with pytest.raises(ValueError) as caught:
        compile_with(pattern)
    shown = pattern.decode("utf-8", "backslashreplace")
    assert str(caught.value).startswith(f"Invalid pattern: {shown}, error: {reason}")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){12}$", "(a?){30}a{30}b"]
)
def test_patterns_that_make_backtracking_explode(pattern: str, compile_with: Compile) -> None:
    """A backtracking engine takes hours for each; the timeout of the suite would end it."""
    text = b"a" * 60 + b"!"
    expression = compile_with(pattern.encode())
    assert expression.replace(text, b"") in (text, b"!")
    assert not expression.matches_whole(text)


def test_python_is_asked_only_where_its_steps_are_bounded() -> None:
    quick = RegularExpression(b"[0-9]+")
    assert quick._few_steps(10**6, False)
    quadratic = RegularExpression(b"[0-9]+x")
    assert quadratic._few_steps(100, False)
    assert not quadratic._few_steps(10**6, False)
    for pattern in (b"(a+)+$", b"(a|aa)*b", b"(a?){30}", b"(a*)*"):
        assert not RegularExpression(pattern)._few_steps(100, True), pattern


ATOMS = [
    "a",
    "b",
    "c",
    ".",
    "[ab]",
    "[^a]",
    "é",
    "\\d",
    "\\w",
    "\\b",
    "^",
    "$",
    "(a)",
    "(b|ab)",
    "(?:a|b)",
    "()",
    "x?",
    "\\B",
    "(?i)",
    "(?m)",
    "(?i:K)",
    "\\x41",
    "[[:alpha:]]",
    "[^\\w]",
    "(?i)\\W",
    "[\\d-]",
    "{",
    "\\z",
    "(?U)",
    "\\Qa.\\E",
    "\\p{Lu}",
    "[é-ü]",
    "|",
    "(",
    ")",
]
REPEATS = ["*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,}", "{,2}"]
TEXTS = [b"", b"ab", b"abcabc", b"a b\nab", "éaü".encode(), b"a\xffb", b"Kks S", b"aaaaaa", b"\xc3"]


def test_engines_agree_on_random_patterns() -> None:
    """The automaton and Python's `re`; and RE2, where it is installed."""
    random_number = random.Random(0)
    google = regular_expressions._google()
    compared = 0
    for _ in range(600):
        parts = random_number.choices(ATOMS, k=random_number.randint(1, 5))
        pattern = "".join(
            part + random_number.choice(REPEATS) * (random_number.random() < 0.35) for part in parts
        ).encode()
        try:
            parsed = regex_syntax.parse(pattern.decode())
        except regex_syntax.PatternError:
            if google is not None:
                with pytest.raises(ValueError, match="Invalid pattern"):
                    RegularExpression(pattern)
            continue
        chosen, automaton = RegularExpression(pattern), Automaton(parsed)
        for text in TEXTS:
            pieces = ("<", 0, ">")
            by_automaton = regular_expressions._replaced(
                automaton.search, text.decode("utf-8", "surrogateescape"), pieces, True
            ).encode("utf-8", "surrogateescape")
            assert chosen.replace(text, rb"<\0>") == by_automaton, (pattern, text)
            if google is not None:
                search = regular_expressions._google_search(chosen._google)
                by_google = regular_expressions._replaced(search, text, (b"<", 0, b">"), True)
                assert by_google == by_automaton, (pattern, text)
            compared += 1
    assert compared > 2000


def test_mistakes_of_the_ops_name_the_pattern_and_the_rewrite() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for op in (
            tf.regex_replace(["a"], "x(", "b"),
            tf.strings.regex_full_match(["a"], "x("),
            tf.regex_replace(["a"], tf.constant("x("), "b"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Invalid pattern: x\("):
                session.run(op)
        with pytest.raises(tf.errors.InvalidArgumentError, match="asks for group 2"):
            session.run(tf.regex_replace(["a"], "(a)", r"\2"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Rewrite schema error"):
            session.run(tf.regex_replace(["a"], "(a)", r"\x"))
