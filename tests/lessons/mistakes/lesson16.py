"""Wrong answers to the exercises of lesson 16."""

MISTAKES = {
    "ex1": [
        "def tokens(lines):\n    return tf.string_split(lines).values",
        "def tokens(lines):\n    return tf.string_split(tf.strings.lower(lines)).values",
    ],
    "ex2": [
        "def mean_length(words):\n"
        "    letters, number = tf.unique(tf.strings.substr(words, 0, 1))\n"
        "    return letters, tf.unsorted_segment_sum(\n"
        "        tf.strings.length(words), number, tf.size(letters))",
        "def mean_length(words):\n    return tf.reduce_mean(tf.strings.length(words))",
    ],
    "ex3": [
        "def merge(word_lists, count_lists):\n"
        "    return tf.concat(word_lists, 0), tf.concat(count_lists, 0)",
        "def merge(word_lists, count_lists):\n"
        "    keys, _, counts = tf.unique_with_counts(tf.concat(word_lists, 0))\n"
        "    return keys, counts",
    ],
    "ex4": [
        "def grep(lines, word):\n    return tf.boolean_mask(lines, tf.equal(lines, word))",
        "def grep(lines, word):\n"
        "    return tf.boolean_mask(lines, tf.strings.regex_full_match(lines, '.*cat.*'))",
    ],
    "ex5": [
        "zero = 0.0\ndef combine(a, b):\n    return (a + b) / 2.0",
        "zero = 0.0\ndef combine(a, b):\n    return a + b",
        "zero = 0.0\ndef combine(a, b):\n    return tf.maximum(a, b)",
    ],
}
