# issue 5: tf.keras.preprocessing: texts and sequences
import json
import random as python_random

text, sequence = tf.keras.preprocessing.text, tf.keras.preprocessing.sequence
texts = ["The cat sat on the mat.", "A dog, a cat; and THE rest!", "", "dog's\tday"]
result["words"] = [text.text_to_word_sequence(t) for t in texts]
result["words_other"] = text.text_to_word_sequence("a_b-c d", filters="-", lower=False, split="_")
result["hash"] = text.hashing_trick(texts[1], 50, "md5")
result["one_hot"] = len(text.one_hot(texts[1], 50))
for name, settings in {
    "plain": {},
    "few": {"num_words": 4},
    "oov": {"num_words": 4, "oov_token": "<unk>"},
    "chars": {"char_level": True},
}.items():
    tokenizer = text.Tokenizer(**settings)
    tokenizer.fit_on_texts(texts)
    new = ["the dog sat", "an owl and a cat cat"]
    found = tokenizer.texts_to_sequences(new)
    result[name] = found
    result[name + "_index"] = tokenizer.word_index
    result[name + "_counts"] = dict(tokenizer.word_counts)
    result[name + "_docs"] = dict(sorted(tokenizer.word_docs.items()))
    result[name + "_texts"] = tokenizer.sequences_to_texts(found)
    for mode in ("binary", "count", "freq", "tfidf"):
        result[f"{name}_{mode}"] = tokenizer.texts_to_matrix(new, mode)
    again = text.tokenizer_from_json(tokenizer.to_json())
    result[name + "_again"] = again.texts_to_sequences(new)
    result[name + "_config"] = sorted(json.loads(tokenizer.to_json())["config"])
fitted = text.Tokenizer(num_words=6)
fitted.fit_on_sequences([[1, 2, 2], [2, 5]])
result["sequences"] = fitted.sequences_to_matrix([[1, 2, 2, 9], [5]], "tfidf")
result["no_words"] = error_of(lambda: text.Tokenizer().texts_to_matrix(["a"]))
result["bad_mode"] = error_of(lambda: fitted.sequences_to_matrix([[1]], "nothing"))

result["table"] = sequence.make_sampling_table(12, 0.01)
for name, settings in {
    "pairs": {"shuffle": False, "negative_samples": 0, "window_size": 2},
    "seeded": {"seed": 3, "negative_samples": 0.5},
    "categorical": {"seed": 4, "categorical": True, "window_size": 1},
    "table_used": {"seed": 5, "sampling_table": sequence.make_sampling_table(12, 0.01)},
}.items():
    python_random.seed(7)
    couples, labels = sequence.skipgrams([1, 4, 0, 2, 7, 4], 10, **settings)
    result[name] = [couples, labels]
lists = [[1, 2, 3], [4], [5, 6, 7, 8, 9]]
result["padded"] = sequence.pad_sequences(lists)
result["padded_post"] = sequence.pad_sequences(
    lists, 4, padding="post", truncating="post", value=-1.0, dtype="float32"
)
result["padded_pre"] = sequence.pad_sequences(lists, maxlen=2)
series = np.arange(40).reshape(20, 2)
for name, settings in {
    "series": {"batch_size": 4},
    "strided": {"batch_size": 3, "stride": 2, "sampling_rate": 2},
    "reversed": {"batch_size": 4, "reverse": True, "start_index": 2, "end_index": 15},
}.items():
    generator = sequence.TimeseriesGenerator(series, np.arange(20), length=5, **settings)
    result[name] = [list(generator[i]) for i in range(len(generator))]
result["too_long"] = error_of(lambda: sequence.TimeseriesGenerator(series, np.arange(20), 30))
