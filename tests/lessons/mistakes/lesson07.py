"""Wrong answers to the exercises of lesson 7."""

MISTAKES = {
    "ex1": [
        "columns = [tf.feature_column.numeric_column(key)\n"
        "           for key in ('PetalWidth', 'PetalLength')]",
        "columns = [tf.feature_column.bucketized_column(\n"
        "    tf.feature_column.numeric_column(key), [border])\n"
        "    for key, border in (('SepalWidth', 0.8), ('SepalLength', 5.0))]",
        "columns = [tf.feature_column.bucketized_column(\n"
        "    tf.feature_column.numeric_column(key), [border])\n"
        "    for key, border in (('PetalWidth', 1.8), ('PetalLength', 5.0))]",
    ],
    "ex2": [
        "linear = tf.estimator.LinearClassifier(\n"
        "    feature_columns=my_feature_columns, n_classes=3)",
        "linear = classifier",
        "linear = tf.estimator.LinearClassifier(\n"
        "    feature_columns=my_feature_columns[1:2], n_classes=3)\n"
        "linear.train(\n"
        "    input_fn=lambda: train_input_fn(train_x, train_y, 100), steps=100)",
    ],
    "ex3": [
        "def confusion(classifier, features, labels):\n"
        "    return classifier.evaluate(\n"
        "        input_fn=lambda: eval_input_fn(features, labels, 100))['accuracy']",
        "def confusion(classifier, features, labels):\n"
        "    counts = np.zeros([3, 3], int)\n"
        "    for true, found in zip(labels, named(features, classifier)):\n"
        "        counts[found, true] += 1\n"
        "    return counts",
        "def confusion(classifier, features, labels):\n"
        "    return np.diag(np.bincount(labels, minlength=3))",
    ],
    "ex4": [
        "def careful(probabilities):\n    return np.argmax(probabilities, -1)",
        "def careful(probabilities):\n"
        "    best = np.argmax(probabilities)\n"
        "    return best if probabilities[best] >= 0.9 else -1",
        "def careful(probabilities):\n"
        "    rows = np.asarray(probabilities)\n"
        "    return np.where(rows.max(-1) > 0.9, rows.argmax(-1), -1)",
    ],
    "ex5": [
        "def by_eye(flowers):\n    return np.where(flowers['SepalLength'] < 5.5, 0, 1)",
        "def by_eye(flowers):\n    return np.where(flowers['PetalLength'] < 2.5, 0, 1)",
        "def by_eye(flowers):\n    return 0",
    ],
}
