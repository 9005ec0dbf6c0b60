"""pandas as programs of 2016 to 2019 call it. The values are what pandas 0.25.3 gave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shim.test_as_tensorflow import result_of

pytest.importorskip("pandas")


def table_after(*lines: str) -> Any:
    """``result`` after the lines, where ``df`` is a table with a gap, numbers, and text."""
    program = """
import warnings
warnings.simplefilter("ignore")
import dataflow
dataflow.as_tensorflow()
import numpy as np
import pandas as pd
df = pd.DataFrame({"a": [1.0, np.nan, 3.0], "n": [1, 2, 3], "s": ["x", "y", "x"]}, index=list("pqr"))
"""
    return result_of(program + "\n".join(lines))


def test_statistics_leave_text_out() -> None:
    found = table_after(
        "result = [df.mean().to_dict(), df.std(0).to_dict()['n'], df.corr().columns.tolist(), '']",
        "try: df.mean(numeric_only=False)",
        "except TypeError: result[-1] = 'as asked'",
    )
    assert found[0] == {"a": 2.0, "n": 2.0}
    assert found[1:] == [1.0, ["a", "n"], "as asked"]


def test_text_is_of_dtype_object() -> None:
    found = table_after(
        "result = [bool(df['s'].dtype == object), df.select_dtypes(['object']).columns.tolist(),",
        "    pd.get_dummies(df).values.dtype.name, str(pd.get_dummies(df)['s_x'].dtype)]",
    )
    assert found == [True, ["s"], "float64", "uint8"]


@pytest.mark.parametrize(
    "change",
    [
        "df['a'].fillna(7, inplace=True)",
        "df.a.fillna(7, inplace=True)",
        "df['a'][df['a'].isnull()] = 7",
        "df.a[1] = 7",
        "df['a'].loc['q'] = 7",
        "df['a'].iloc[1] = 7",
        "df['a'].replace({np.nan: 7}, inplace=True)",
        "df.loc[df.a.isnull(), 'a'] = 7",
    ],
)
def test_a_changed_column_changes_its_table(change: str) -> None:
    assert table_after(change, "result = df['a'].tolist()") == [1.0, 7.0, 3.0]


def test_a_column_of_another_table_stays_apart() -> None:
    found = table_after(
        "big = df[df.n > 1]",
        "big['a'].fillna(7, inplace=True)",
        "column = df['n'].copy()",
        "column[:] = 0",
        "gone = df['n']",
        "del df['n']",
        "gone[0] = 5",
        "result = [big['a'].tolist(), np.isnan(df['a'].values).sum().item(), df.columns.tolist()]",
    )
    assert found == [[7.0, 3.0], 1, ["a", "s"]]


def test_values_may_be_written_to() -> None:
    found = table_after(
        "numbers = df[['a', 'n']].values",
        "numbers[0] = 5",
        "df['n'].values[0] = 9",
        "other = df.drop('s', axis=1)",
        "other.values[:] = 0",
        "result = [numbers[0].tolist(), df['n'].tolist(), df['a'].tolist()[0]]",
        "np.random.shuffle(df.n.values)",
        "result.append(sorted(df['n'].tolist()))",
    )
    assert found == [[5.0, 5.0], [9, 2, 3], 1.0, [2, 3, 9]]


def test_arguments_have_their_places_again() -> None:
    found = table_after(
        "result = [df.drop('s', 1).columns.tolist(), pd.concat([df, df], 1).shape,",
        "    df.sort_values('n', 0, False)['n'].tolist(), df.dropna(0).shape,",
        "    df.fillna(method='ffill')['a'].tolist(), df.fillna(0)['a'].tolist(),",
        "    df.interpolate().values.tolist(), df.drop(['n'], axis=1).shape]",
    )
    assert found == [
        ["a", "n"],
        [3, 6],
        [3, 2, 1],
        [2, 3],
        [1.0, 1.0, 3.0],
        [1.0, 0.0, 3.0],
        [[1.0, 1, "x"], [2.0, 2, "y"], [3.0, 3, "x"]],
        [3, 2],
    ]


def test_rows_by_position_and_by_label() -> None:
    found = table_after(
        "row = df.iloc[0]",
        "row[1] = 8",
        "result = [df.iloc[0][2], row.tolist(), [r[0] for _, r in df.iterrows()][2],",
        "    df.ix[0, 's'], df.ix[0:2, ['a', 's']].shape, df.ix['p', 'n'].item(),",
        "    df.reset_index(drop=True).ix[0:1, 'n'].tolist(), df.get_value('p', 'n').item()]",
        "df.ix[2, 'n'] = 6",
        "result.append(df['n'].tolist())",
        "try: df['n']['z']",
        "except KeyError: result.append('no label')",
    )
    assert found == ["x", [1.0, 8, "x"], 3.0, "x", [2, 2], 1, [1, 2], 1, [1, 2, 6], "no label"]


def test_names_that_are_gone() -> None:
    found = table_after(
        "result = [df.append({'a': 1, 'n': 2, 's': 'z'}, ignore_index=True)['n'].tolist(),",
        "    df.append([df, df]).shape, pd.Series([1, 2]).append(pd.Series([3])).tolist(),",
        "    [name for name, _ in df.iteritems()], df.as_matrix(['n']).tolist(),",
        "    df.applymap(str).shape, pd.np is np, df['n'].nonzero()[0].tolist(),",
        "    pd.value_counts(df['s'])['x'].item(), pd.datetime(2019, 1, 2).year]",
    )
    assert found == [
        [1, 2, 3, 2],
        [9, 3],
        [1, 2, 3],
        ["a", "n", "s"],
        [[1], [2], [3]],
        [3, 3],
        True,
        [0, 1, 2],
        2,
        2019,
    ]


def test_reading_with_the_options_of_the_time() -> None:
    found = table_after(
        "import io",
        "result = [pd.read_csv(io.StringIO('a;b\\n1;2'), ';').values.tolist(),",
        "    pd.read_csv(io.StringIO('1  2\\n3 4'), delim_whitespace=True, header=None).values.tolist(),",
        "    pd.read_csv(io.StringIO('a\\n1\\n2'), squeeze=True).tolist(),",
        "    pd.read_csv(io.StringIO('a,b\\n1,2\\n3,4,5'), error_bad_lines=False).values.tolist()]",
    )
    assert found == [[[1, 2]], [[1, 2], [3, 4]], [1, 2], [[1, 2]]]


def test_names_replaced_by_numbers_are_numbers() -> None:
    found = table_after(
        "new, names = df.replace({'x': 0, 'y': 1}), {'x': 0, 'y': 1}",
        "s = df.pop('s')",
        "nothing = s.replace(names, inplace=True)",
        "result = [str(new['s'].dtype), str(s.dtype), s.tolist(), nothing, str(df['n'].replace(1, 5).dtype)]",
    )
    assert found == ["int64", "int64", [0, 1, 0], None, "int64"]
