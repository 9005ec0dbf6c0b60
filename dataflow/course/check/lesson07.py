"""Checks of lesson 7: feature columns, estimators, evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, limited
from dataflow.course.variants import drawn

_SPECIES = ("Setosa", "Versicolor", "Virginica")


def _flowers() -> Any:
    """The lesson's own data."""
    from dataflow_datasets import iris

    return iris.load_data()


def _input_fn(features: Any, labels: Any, repeats: bool = False) -> Callable[[], Any]:
    """The lesson's input functions: endless and shuffled, or each flower once."""

    def read() -> Any:
        inputs = dict(features) if labels is None else (dict(features), labels)
        dataset = tf.data.Dataset.from_tensor_slices(inputs)
        if repeats:
            dataset = dataset.shuffle(1000, seed=1).repeat()
        return dataset.batch(100)

    return read


def _rows(columns: Any, widths: list[float], lengths: list[float]) -> Any:
    """What feature columns make of petals."""
    with tf.Graph().as_default(), tf.Session() as session:
        features = {
            "PetalWidth": tf.constant(widths),
            "PetalLength": tf.constant(lengths),
        }
        layer = tf.feature_column.input_layer(features, columns)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(layer)


@exercise(
    "A bucketized column tells only in which range a number is. How many boundaries make two ranges?",
    "One boundary makes two ranges. Each of the two columns needs a numeric column and one "
    "boundary.",
    "tf.feature_column.bucketized_column(tf.feature_column.numeric_column('PetalWidth'), [0.8]), and the "
    "same for the length.",
)
def ex1(columns: Any) -> str:
    """Two yes-or-no columns."""
    expect_type(
        isinstance(columns, (list, tuple)) and len(columns) == 2,
        f"columns is {type(columns).__name__}"
        + (f" of {len(columns)}" if isinstance(columns, (list, tuple)) else "")
        + ", needed a list of two feature columns",
    )
    for column in columns:
        expect_type(
            hasattr(column, "name") and hasattr(column, "parse_example_spec"),
            f"columns has a {type(column).__name__}, needed feature columns, of tf.feature_column",
        )
    keys = [", ".join(sorted(tf.feature_column.make_parse_example_spec([c]))) for c in columns]
    expect(
        sorted(keys) == ["PetalLength", "PetalWidth"],
        f"the columns read {' and '.join(keys)}, needed PetalWidth and PetalLength",
    )
    rows = _rows(list(columns), [0.2, 0.7, 0.9, 2.5], [2.0, 2.0, 2.0, 2.0])
    lengths = _rows(list(columns), [2.0, 2.0, 2.0, 2.0], [1.0, 4.9, 5.1, 6.9])
    for name, found, low, high in (
        ("PetalWidth", rows, "0.2 and 0.7", "0.9 and 2.5"),
        ("PetalLength", lengths, "1.0 and 4.9", "5.1 and 6.9"),
    ):
        same = np.allclose(found[0], found[1]) and np.allclose(found[2], found[3])
        expect(
            same,
            f"the model can tell {name} {low} apart, or {high}: it is told more than yes or no",
        )
        expect(
            not np.allclose(found[1], found[2]),
            f"{name} {low} looks to the model like {high}: the border is elsewhere",
        )
    (train_x, train_y), (test_x, test_y) = _flowers()
    model = tf.estimator.DNNClassifier(
        feature_columns=list(columns),
        hidden_units=[10, 10],
        n_classes=3,
        config=tf.estimator.RunConfig(tf_random_seed=2),
    )
    model.train(_input_fn(train_x, train_y, repeats=True), steps=500)
    accuracy = float(model.evaluate(_input_fn(test_x, test_y))["accuracy"])
    return (
        f"Right: two bits for each flower, and {accuracy * len(test_y):.0f} of {len(test_y)} are "
        "named correctly."
    )


@exercise(
    "It is made as the DNNClassifier was, without hidden_units, and trained by the same call.",
    "The constructor takes the feature columns and the number of classes; the training is a "
    "second call, with the same input function.",
    "tf.estimator.LinearClassifier(feature_columns=my_feature_columns, n_classes=3), then linear.train("
    "input_fn=lambda: train_input_fn(train_x, train_y, 100), steps=1000).",
)
def ex2(linear: Any) -> str:
    """A trained linear classifier."""
    expect_type(
        isinstance(linear, tf.estimator.Estimator),
        f"linear is {type(linear).__name__}, needed an estimator",
    )
    expect(
        linear.latest_checkpoint() is not None,
        "linear has not been trained: there is no checkpoint in its folder",
    )
    names = linear.get_variable_names()
    expect(
        not any("hiddenlayer" in name for name in names),
        "this model has hidden layers; needed a linear one",
    )
    (train_x, train_y), (test_x, test_y) = _flowers()
    result = linear.evaluate(_input_fn(test_x, test_y))
    expect(
        "accuracy" in result,
        f"a {type(linear).__name__} names no species, so it has no accuracy: needed a classifier",
    )
    accuracy = float(result["accuracy"])
    expect(
        accuracy >= 0.9,
        f"after {int(result['global_step'])} steps its accuracy is {accuracy:.3f}, needed 0.9",
    )
    seen = float(linear.evaluate(_input_fn(train_x, train_y))["accuracy"])
    return (
        f"Right: {accuracy:.3f} on the test flowers ({seen:.3f} on those it has seen), without any "
        "hidden layer."
    )


@exercise(
    "Ask the classifier for a prediction of every flower; class_ids holds the number of the species.",
    "Each flower adds 1 to one place of the array: the row is its label, the column is what "
    "it was named.",
    "named(features, classifier) of the lesson gives the numbers. For each pair of label and prediction "
    "add 1 to counts[label, prediction].",
)
def ex3(confusion: Callable[..., Any], classifier: Any) -> str:
    """A confusion matrix."""
    (train_x, train_y), (test_x, test_y) = _flowers()
    told = ""
    for words, features, labels in (
        ("the test flowers", test_x, test_y),
        ("40 training flowers", train_x.iloc[:40], train_y.iloc[:40]),
        # Where the mistakes lie evenly, only labels like these tell rows from columns.
        ("the test flowers, each labeled one species on", test_x, (test_y + 1) % 3),
    ):
        with limited(20):  # train_input_fn never ends
            found = np.asarray(confusion(classifier, features, labels))
        answers = classifier.predict(_input_fn(features, None))
        guesses = np.array([answer["class_ids"][0] for answer in answers])
        needed = np.zeros((3, 3), int)
        np.add.at(needed, (np.asarray(labels), guesses), 1)
        expect(found.shape == (3, 3), f"it returned the shape {found.shape}, needed (3, 3)")
        expect(
            found.sum() == len(labels),
            f"for {words} it counts {found.sum():g} flowers, needed {len(labels)}",
        )
        if not np.array_equal(found, needed):
            turned = np.array_equal(found, needed.T)
            expect(
                False,
                f"for {words} it gives {found.tolist()}, needed {needed.tolist()}"
                + (": rows and columns are exchanged" if turned else ""),
            )
        told = told or f"{needed.tolist()} for the test flowers"
    return f"Right: {told}; what is off the diagonal is wrong."


@exercise(
    "The largest probability of a row decides whether it may answer; its place is the answer.",
    "Two numbers for each row: the largest probability, and its place. The first decides "
    "whether the second is given.",
    lambda v: (
        f"np.where(rows.max(-1) >= {v.least}, rows.argmax(-1), -1) does it for one row and for many."
    ),
)
def ex4(careful: Callable[[Any], Any]) -> str:
    """A classifier that may refuse."""
    least = float(drawn("lesson07.ex4").least)
    rest = 1 - least
    rows = np.array(
        [
            [0.97, 0.02, 0.01],
            [0.5, 0.3, 0.2],
            [rest / 2, rest / 2 - 0.01, least + 0.01],
            [0.0, least, rest],
            [0.02, least - 0.01, rest - 0.01],
        ]
    ).round(4)
    needed = [0, -1, 2, 1, -1]
    for row, number in zip(rows, needed, strict=True):
        found = careful(row)
        expect(
            np.ndim(found) == 0 and found == number,
            f"for {row.tolist()} it returned {found}, needed {number}"
            + (f" ({_SPECIES[number]})" if number >= 0 else ": nothing is sure enough"),
        )
    found = np.asarray(careful(rows))
    expect(
        found.shape == (5,) and found.tolist() == needed,
        f"for these five rows at once it returned {found.tolist()}, needed {needed}",
    )
    return "Right, for one row and for many. It would still trust the giant flower: being sure is not being right."


@exercise(
    "The second picture of the lesson, the petals: where would you draw two lines?",
    "One species has far shorter petals than the others. What parts the other two best?",
    "Below 2.5 cm of length it is 0; of the others, below about 1.7 cm of width 1, else 2.",
)
def ex5(by_eye: Callable[[Any], Any]) -> str:
    """Rules by hand, graded on flowers that were kept apart."""
    from dataflow_datasets import iris

    _, (flowers, species) = iris.load_data()
    # In another order, so that no list of answers can be right.
    order = np.random.default_rng(3).permutation(len(species))
    told = by_eye(flowers.iloc[order].reset_index(drop=True))
    named = np.asarray(list(told) if isinstance(told, Iterator) else told)
    expect_type(
        named.shape == (len(species),),
        f"for {len(species)} flowers it returned the shape {named.shape}, needed a number for each of them",
    )
    expect_type(
        np.issubdtype(named.dtype, np.number),
        f"it named the first flower {named[0]!r}, needed the number of its species: 0, 1 or 2",
    )
    right = int((named == np.asarray(species)[order]).sum())
    expect(right >= 27, f"{right} of {len(species)} flowers are named correctly, needed 27")
    return f"Right: {right} of {len(species)}, by rules that a person can read."
