# issue 16: tf.data.experimental.make_csv_dataset: dtypes read off files, columns by name
import os

first = os.path.join(tmp_dir, "a.csv")
second = os.path.join(tmp_dir, "b.csv")
tabs = os.path.join(tmp_dir, "t.tsv")
with open(first, "w") as file:
    file.write('id,big,x,s,y\n1,3000000000,1.5,a,0\n2,5,,"b,c",1\n3,6,2,,0\n')
with open(second, "w") as file:
    file.write("id,big,x,s,y\n4,7,1e3,d,1\n")
with open(tabs, "w") as file:
    file.write("1\tz\n2\tw\n")
session = tf.Session()


def report(key, files, **options):
    dataset = tf.data.experimental.make_csv_dataset(files, 2, shuffle=False, **options)
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    features = element[0] if isinstance(element, tuple) else element
    result[f"{key}_types"] = [[k, v.dtype.name, shape_of(v)] for k, v in features.items()]
    found = []
    for _ in range(3):
        try:
            value = session.run(element)
        except tf.errors.OutOfRangeError:
            break
        labeled = isinstance(value, tuple)
        found.append([list(value[0].items()), value[1]] if labeled else list(value.items()))
    result[key] = found


both = os.path.join(tmp_dir, "*.csv")
report("plain", both, num_epochs=1)
report("label", both, label_name="y", num_epochs=1)
report("forever", both, label_name="y")
report("select", both, select_columns=["y", "id"], num_epochs=1)
report("number", first, select_columns=[0, 2], num_epochs=1)
report("defaults", both, column_defaults=[tf.int64, tf.float32, [9.0], ["none"], 0], num_epochs=1)
report("names", [first, second], column_names=list("abcde"), num_epochs=1)
report("na", first, na_value="5", num_epochs=1)
report("tab", tabs, header=False, column_names=["n", "s"], field_delim="\t", num_epochs=1)


def error(files=first, **options):
    return error_of(lambda: tf.data.experimental.make_csv_dataset(files, 2, **options))


result["errors"] = [
    error(label_name="no"),
    error(column_names=["a", "a", "b", "c", "d"]),
    error(select_columns=["no"]),
    error(os.path.join(tmp_dir, "none*")),
    error(header=False),
]
