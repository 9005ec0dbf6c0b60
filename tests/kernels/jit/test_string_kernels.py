"""What machine code reads in vectors of bytes is what Python reads there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import parsing, string
from dataflow.kernels.jit import string_kernels
from dataflow.kernels.string import text_array
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

NUMBERS = (
    *(b"1", b"-2", b"+3", b"", b"1.5", b".5", b"5.", b".", b"-", b"1e3", b"1E-3", b"1e", b"1e+"),
    *(b"1e+5", b"nan", b"-inf", b" 1", b"1 ", b"1_0", b"123456789012345678", b"0.1", b"-0.1"),
    *(b"1234567890123456789", b"-0", b"-0.0", b"9007199254740993", b"1e22", b"1e23", b"1e-22"),
    *(b"1.7976931348623157e308", b"0.000001", b"1.2.3", b"--1", b"1e1e1", b"3.14159265358979"),
    *(
        b"e5",
        b"0x10",
        b"00012",
        b"1e-23",
        b"12e200",
        b"5e99999",
        b"2147483648",
        b"0.30000000000004",
    ),
)


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_kernels, "SMALL_ELEMENTS", 0)


def _texts(*texts: bytes) -> Any:
    return text_array(texts, (len(texts),))


@pytest.mark.parametrize("whole", [False, True])
def test_numbers(whole: bool) -> None:
    found = string_kernels.numbers(_texts(*NUMBERS), whole)
    assert found is not None
    read = {t for t, left in zip(NUMBERS, found[1], strict=True) if not left}
    assert {b"1", b"-2", b"+3", b"00012"} <= read
    assert whole or {b"1.5", b".5", b"5.", b"1E-3", b"-0.0", b"1e22", b"1e-22"} <= read
    for text, value, left in zip(NUMBERS, *found, strict=True):
        if not left:
            wanted = int(text) if whole else float(text)
            assert value == wanted and np.signbit(value) == np.signbit(wanted)


@pytest.mark.parametrize("out_type", [tf.float32, tf.float64, tf.int32, tf.int64])
def test_string_to_number(monkeypatch: pytest.MonkeyPatch, out_type: Any) -> None:
    used = results_of(monkeypatch, string_kernels, "numbers")
    texts = [b"12", b"-7", b" 3 ", b"2147483647"] + ([] if out_type.is_integer else [b"1e30"])
    got = string.string_to_number_kernel(np, _texts(*texts), out_type=out_type)
    assert used[0] is not None and got.dtype == out_type.numpy
    np.testing.assert_array_equal(got, np.array([float(t) for t in texts], out_type.numpy))
    for wrong in (b"x", b"1_0", b"2147483648" if out_type == tf.int32 else b""):
        with pytest.raises(ValueError, match="could not correctly convert string"):
            string.string_to_number_kernel(np, _texts(b"1", wrong), out_type=out_type)


RECORDS = {
    "plain": [b"1.5,7,ab,", b"-2,8,,3", b"1e3,9,c d,4\r\n"],
    "blanks": [b" 1,2,x,3", b"1,2, y ,3"],
    "quoted": [b'"1",2,"a,b",3', b"1,2,c,3"],
    "default": [b",,,", b"1,,x,"],
    "end of line": [b"1,2,x,3\n", b"1,2,x,\r\n"],
}


@pytest.mark.parametrize("quotes", [True, False])
@pytest.mark.parametrize("chosen", [[], [0, 2], [1]], ids=str)
@pytest.mark.parametrize("name", RECORDS)
def test_csv(monkeypatch: pytest.MonkeyPatch, name: str, chosen: list[int], quotes: bool) -> None:
    types = [tf.float32, tf.int32, tf.string, tf.float64]
    fillers: list[Any] = [np.float32([9.5]), np.int32([7]), text_array([b"none"], (1,)), [0.25]]
    if chosen:
        types, fillers = [types[i] for i in chosen], [fillers[i] for i in chosen]
    options: dict[str, Any] = {"field_delim": ",", "na_value": "", "select_cols": chosen}
    options |= {"OUT_TYPE": types, "use_quote_delim": quotes}

    def columns() -> Any:
        try:
            return parsing.decode_csv_kernel(np, _texts(*RECORDS[name]), fillers, **options)
        except ValueError as error:
            return str(error)

    with monkeypatch.context() as patch:
        used = results_of(patch, parsing, "_plain_csv")
        got = columns()
    if name == "plain" and quotes:
        assert used[0] is not None
    monkeypatch.setattr(parsing, "_plain_csv", lambda *arguments: None)
    wanted = columns()
    if isinstance(wanted, str):
        assert got == wanted
        return
    for a, b in zip(got, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([b"1,2", b"1,2,3"], "Expect 2 fields but have 3 in record 1"),
        ([b"1,2", b"1"], "Expect 2 fields but have 1 in record 1"),
        ([b"1,2", b"1,x"], "Field 1 in record 1 is not a valid int32: x"),
        ([b"1,2", b",2"], "Field 0 is required but missing in record 1"),
        ([b"1,2", b"1,3000000000"], "Field 1 in record 1 is not a valid int32: 3000000000"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(records: list[bytes], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsing.decode_csv_kernel(
            np,
            _texts(*records),
            [np.zeros(0, np.float32), np.int32([7])],
            OUT_TYPE=[tf.float32, tf.int32],
            field_delim=",",
            use_quote_delim=True,
            na_value="",
            select_cols=[],
        )


def test_other_objects_are_left_alone() -> None:
    texts = _texts(b"a", b"b")
    texts[1] = "no bytes"
    assert string_kernels.numbers(texts, False) is None
    assert string_kernels.records(texts, b",", [string_kernels.TEXT], True, True) is None
    assert string_kernels.numbers(_texts(b"1", b"2", b"3")[::2], True) is None
