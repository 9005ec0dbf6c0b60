# issue 16: name and variable scopes of one thread do not change the names that another makes
"""Group 19: scopes are those of a thread."""

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


def in_threads(count, body):
    """What ``body(i, step)`` gives in threads that wait for each other at each ``step()``."""
    found = [None] * count
    barrier = threading.Barrier(count, timeout=20)

    def run(i):
        found[i] = body(i, barrier.wait)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


def named(i, step):
    with graph.as_default(), tf.name_scope(f"t{i}"):
        step()
        first = tf.constant(1.0, name="c").name
        with tf.name_scope("inner"):
            step()
            return [first, tf.constant(1.0, name="c").name]


result["interleaved"] = in_threads(2, named)


def sessions(i, step):
    with tf.Session(graph=graph) as sess:
        step()
        return [tf.get_default_session() is sess, tf.get_default_graph() is graph]


result["sessions"] = in_threads(2, sessions)


def own_graph(i, step):
    with tf.Graph().as_default() as mine:
        step()
        return [tf.get_default_graph() is mine, tf.constant(1, name="c").name]


result["graphs"] = in_threads(2, own_graph)


with tf.variable_scope("shared"):
    tf.get_variable("s", [1])


def reusing(i, step):
    with graph.as_default(), tf.variable_scope("shared", reuse=tf.AUTO_REUSE) as scope:
        step()
        return [tf.get_variable("s", [1]).name, tf.get_default_graph() is graph]


result["reusing"] = in_threads(3, reusing)
with graph.as_default():
    result["after"] = [tf.get_variable_scope().name, tf.constant(1, name="last").name]

import threading as _threading

switched = tf.Graph()
with switched.as_default():
    leads = [tf.constant(1.0, name=f"lead{i}").op for i in range(2)]
switched.switch_to_thread_local()


def built(block):
    """A node of each of two threads that are in their blocks at the same time."""
    made = [None] * 2
    barrier = _threading.Barrier(2, timeout=30)

    def build(i):
        with block(i):
            barrier.wait()
            with switched.as_default():
                made[i] = tf.constant(1.0, name=f"made{i}").op
            barrier.wait()

    workers = [_threading.Thread(target=build, args=(i,)) for i in range(2)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    return made


result["devices_of_threads"] = [op.device for op in built(lambda i: switched.device(f"/job:a{i}"))]
result["waits_of_threads"] = [
    [c.name for c in op.control_inputs]
    for op in built(lambda i: switched.control_dependencies([leads[i]]))
]
result["groups_of_threads"] = [
    [g.decode() for g in op.colocation_groups()]
    for op in built(lambda i: switched.colocate_with(leads[i]))
]
