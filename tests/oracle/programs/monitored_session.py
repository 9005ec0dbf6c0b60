# issue 5: MonitoredTrainingSession, hooks, Scaffold, Supervisor, SessionManager
import os

tf.logging.set_verbosity(tf.logging.ERROR)
step = tf.train.get_or_create_global_step()
w = tf.Variable(1.0, name="w")
train = tf.group(tf.assign_add(step, 1), tf.assign(w, w * 2.0))
hooks = [tf.train.StopAtStepHook(last_step=5)]
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=tmp_dir + "/m", hooks=hooks, save_checkpoint_steps=2, log_step_count_steps=None
) as sess:
    count = 0
    while not sess.should_stop():
        sess.run(train)
        count += 1
result["count"] = count
result["latest"] = os.path.basename(tf.train.latest_checkpoint(tmp_dir + "/m"))
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=tmp_dir + "/m", log_step_count_steps=None
) as sess:
    result["resumed"] = sess.run([w, step])
tf.reset_default_graph()
x = tf.Variable(2.0, name="x")
local = tf.Variable(3.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
with tf.train.MonitoredSession() as sess:
    result["initialized"] = sess.run([x, local])
with tf.train.SingularMonitoredSession() as sess:
    result["singular"] = sess.run(x)
nan = tf.constant(float("nan"))
fail = tf.train.NanTensorHook(nan, fail_on_nan_loss=True)


def run_nan():
    with tf.train.MonitoredSession(hooks=[fail]) as sess:
        sess.run(nan)


result["nan"] = error_of(run_nan)


def body_raises():
    with tf.train.MonitoredSession() as sess:
        raise KeyError("mine")


result["raises"] = error_of(body_raises)
out_of_range = tf.train.limit_epochs(x.read_value(), 2)
tf.reset_default_graph()
queue = tf.train.range_input_producer(2, num_epochs=1, shuffle=False)
item = queue.dequeue()
with tf.train.MonitoredSession() as sess:
    got = []
    while not sess.should_stop():
        got.append(int(sess.run(item)))
result["swallows_end"] = got
tf.reset_default_graph()
step = tf.Variable(0, name="global_step", trainable=False)
tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, step)
increment = tf.assign_add(step, 1)
supervisor = tf.train.Supervisor(
    logdir=tmp_dir + "/sv", global_step=step, save_model_secs=0, save_summaries_secs=0
)
with supervisor.managed_session() as sess:
    for _ in range(3):
        if supervisor.should_stop():
            break
        sess.run(increment)
    supervisor.saver.save(sess, tmp_dir + "/sv/model.ckpt", global_step=3)
result["supervised"] = os.path.basename(tf.train.latest_checkpoint(tmp_dir + "/sv"))
tf.reset_default_graph()
v = tf.Variable(1.0, name="v")
init = tf.global_variables_initializer()
manager = tf.train.SessionManager()
session = manager.prepare_session("", init_op=init)
result["prepared"] = session.run(v)
nine = v.assign(9.0)
scaffold = tf.train.Scaffold(init_fn=lambda s, sess: sess.run(nine))
with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as sess:
    result["scaffold"] = sess.run(v)
