# issue 16: monitored sessions and their coordinator
"""Group 32: monitored sessions."""


class Keep(tf.train.SessionRunHook):
    def __init__(self):
        self.coords = []

    def after_create_session(self, session, coord):
        self.coords.append(coord)


def report(hook, error):
    try:
        raise error
    except tf.errors.OpError as caught:
        hook.coords[-1].request_stop(caught)


def monitored(kind):
    tf.reset_default_graph()
    tf.train.get_or_create_global_step()
    step = tf.constant(5)
    hook = Keep()
    if kind == "singular":
        return tf.train.SingularMonitoredSession(hooks=[hook]), hook, step
    return tf.train.MonitoredSession(hooks=[hook]), hook, step


for kind in ("monitored", "singular"):
    session, hook, step = monitored(kind)
    result[kind + "_before"] = session.should_stop()
    report(hook, tf.errors.UnknownError(None, None, "in a thread"))
    result[kind + "_stop"] = error_of(session.should_stop)
    if kind == "monitored":
        result["stop"] = session.should_stop()
    result[kind + "_close"] = error_of(session.close)
    result[kind + "_after"] = session.should_stop()

session, hook, step = monitored("monitored")
report(hook, tf.errors.AbortedError(None, None, "in a thread"))
result["aborted"] = [error_of(session.should_stop), len(hook.coords)]
result["goes_on"] = session.run(step)
session.close()


def loop(kind):
    session, hook, step = monitored(kind)
    with session:
        count = 0
        while not session.should_stop():
            session.run(step)
            count += 1
            if count == 3:
                report(hook, tf.errors.UnknownError(None, None, "in a thread"))
            if count == 10:
                break
        result["counted_" + kind] = count


result["loop_monitored"] = error_of(lambda: loop("monitored"))
result["loop_singular"] = error_of(lambda: loop("singular"))

for raw in (True, False):
    session, hook, step = monitored("monitored")
    report(hook, tf.errors.AbortedError(None, None, "in a thread"))

    def step_fn(step_context):
        if raw:
            return step_context.session.run(step)
        return step_context.run_with_hooks(step)

    result[f"step_fn_{raw}"] = session.run_step_fn(step_fn)
    result[f"made_{raw}"] = len(hook.coords)
    result[f"step_stop_{raw}"] = session.should_stop()
    result[f"made2_{raw}"] = len(hook.coords)
    result[f"again_{raw}"] = session.run_step_fn(step_fn)
    session.close()


def aborting(raw):
    session, hook, step = monitored("monitored")
    tries = []

    def step_fn(step_context):
        tries.append(step_context.session)
        if len(tries) == 1:
            raise tf.errors.AbortedError(None, None, "gone %s")
        return (step_context.session.run if raw else step_context.run_with_hooks)(step)

    result[f"aborting_{raw}"] = error_of(lambda: session.run_step_fn(step_fn))
    result[f"tries_{raw}"] = [len(tries), len(hook.coords)]
    session.close()


aborting(False)

tf.reset_default_graph()
queue = tf.FIFOQueue(10, tf.int32)
tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
with tf.train.MonitoredSession() as session:
    result["threads"] = tf.train.start_queue_runners(session)
result["no_session"] = error_of(lambda: tf.train.start_queue_runners(3))
result["debug"] = list(tf.RunOptions().debug_options.debug_tensor_watch_opts)
