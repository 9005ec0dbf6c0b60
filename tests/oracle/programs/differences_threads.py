# issue 16: name and variable scopes of one thread do not change the names that another makes
import threading

graph = tf.get_default_graph()
entered, done = threading.Event(), threading.Event()
names = []


def work():
    with graph.as_default(), tf.name_scope("foo"), tf.variable_scope("bar"):
        entered.set()
        done.wait()
        names.append(tf.constant(1.0, name="inside").name)
        names.append(tf.get_variable("v", []).name)


with tf.name_scope("outer"):
    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    names += [tf.constant(2.0, name="outside").name, tf.get_variable("w", []).name]
    done.set()
    thread.join()
result["names"] = names
