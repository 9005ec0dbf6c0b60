"""The comparison itself: what it must notice, and what it must let pass."""

from __future__ import annotations

import ast
import inspect
import json

import numpy as np
import pytest

from tests.oracle import comparison
from tests.oracle.encoding import differences, encode


def through_json(value):
    return json.loads(json.dumps(encode(value)))


@pytest.mark.parametrize(
    "value",
    [
        np.float32(1.5),
        np.array([1.0, np.nan, np.inf]),
        np.array([b"a", b"\xff"], object),
        np.array([1 + 2j], np.complex64),
        np.zeros([0, 3], np.int64),
        b"\x00\xff",
        "text",
        None,
        True,
        [1, 2.5, {"a": (np.int32(1),)}],
        {"b", "a"},
        inspect.signature(lambda x, axis=None, name="n": x),
    ],
)
def test_a_value_agrees_with_itself(value):
    assert differences(through_json(value), through_json(value)) is None


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (np.float32(1.0), np.float64(1.0)),
        (np.float32(1.0), np.array(1.0, np.float32)),
        (np.zeros([2]), np.zeros([2, 1])),
        (np.array([1.0, 2.0]), np.array([1.0, 2.001])),
        (np.array([np.nan]), np.array([1.0])),
        (np.array([np.inf]), np.array([-np.inf])),
        (np.array([1]), np.array([2])),
        (np.array([b"a"], object), np.array([b"b"], object)),
        (1, 1.0),
        (True, 1),
        ("Add", "Sub"),
        ([1, 2], [1]),
        ({"a": 1}, {"b": 1}),
        (None, 0),
        (b"a", "a"),
    ],
)
def test_a_difference_is_seen(mine, theirs):
    assert differences(through_json(mine), through_json(theirs)) is not None


def test_version_suffixes_of_op_types_do_not_count():
    assert differences("Add", "AddV2") is None
    assert differences("x/AddV2", "x/SubV2") is not None


def test_an_error_may_be_a_subclass_of_tensorflows():
    theirs = "raises ValueError < Exception"
    assert differences("raises ShapeError < ValueError < Exception", theirs) is None
    assert differences("raises TypeError < Exception", theirs) is not None
    assert differences("nothing", theirs) is not None
    assert differences(theirs, "nothing") is not None
    private = "raises OperatorNotAllowedInGraphError < TypeError < Exception"
    assert differences("raises TypeError < Exception", private) is None
    public = "raises NotFoundError < OpError < Exception"
    assert differences("raises OpError < Exception", public) is not None


def test_a_signature_may_add_parameters_at_the_end_only():
    theirs = encode(inspect.signature(lambda x, axis=None: x))
    more = encode(inspect.signature(lambda x, axis=None, reduction_indices=None: x))
    assert differences(encode(inspect.signature(lambda x=0, axis=None: x)), theirs) is None
    assert differences(encode(inspect.signature(lambda x, **rest: x)), theirs) is None
    assert differences(encode(inspect.signature(lambda axis, x=None: x)), theirs) is not None
    other_default = encode(inspect.signature(lambda x, axis=0: x))
    assert differences(more, theirs) is None
    assert differences(theirs, more) is not None
    assert differences(other_default, theirs) is not None


def test_engine_objects_are_refused():
    with pytest.raises(TypeError, match="may not report"):
        encode(object())


def test_every_program_names_its_issue_and_every_row_its_reason():
    paths = comparison.program_paths()
    assert len(paths) >= 100
    # `issue_of` raises where the first line names none.
    assert {comparison.issue_of(path) for path in paths} >= {3, 5, 14}
    comparison.known_differences()


def test_an_uncovered_difference_fails_and_a_covered_one_does_not():
    path = comparison.program_paths()[0]
    mine, theirs = {"values": {"k": encode(1)}}, {"values": {"k": encode(2)}}
    assert not comparison.compare_one(path, mine, theirs, []).agrees
    row = comparison.KnownDifference(path.stem, "k*", "because")
    covered = comparison.compare_one(path, mine, theirs, [row])
    assert covered.agrees
    assert list(covered.known) == ["k"]
    missing = comparison.compare_one(path, {"values": {}}, theirs, [])
    assert missing.differing == {"k": "not reported"}


def test_what_tensorflow_1_15_runs_is_in_the_grammar_of_python_3_7():
    own = [
        comparison.HERE / f"{n}.py" for n in ("encoding", "old_names", "run_program", "run_samples")
    ]
    samples = sorted((comparison.REPOSITORY / "tests" / "samples").glob("*.py"))
    raw = comparison.REPOSITORY / "tests" / "raw_op.py"
    for path in (*own, raw, *samples, *comparison.program_paths()):
        ast.parse(path.read_text(), str(path), feature_version=(3, 7))


def test_a_row_about_1_15_holds_where_that_is_asked(monkeypatch):
    asked_2_15 = comparison.known_differences()
    monkeypatch.setattr(comparison, "RELEASE", "1.15")
    asked_1_15 = comparison.known_differences()
    assert {row.release for row in asked_2_15} == {"2.15"}
    assert {row.release for row in asked_1_15} == {"2.15", "1.15"}
    row = next(row for row in asked_1_15 if row.key == comparison.STOPS)
    path = comparison.PROGRAMS / f"{row.program}.py"
    theirs = {"values": {"k": encode(1)}, "error": "AttributeError: later", "line": 2}
    mine = {"values": {"k": encode(1), "m": encode(2)}}
    assert comparison.compare_one(path, mine, theirs, [row]).agrees
    assert not comparison.compare_one(path, mine, theirs, []).agrees
