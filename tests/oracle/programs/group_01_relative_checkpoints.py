# issue 16: checkpoints in relative folders
"""Group 1: checkpoints in a relative folder are found again."""

import os

os.chdir(tmp_dir)


def text_of(path):
    """A state file's lines but for the times, which TensorFlow writes only sometimes."""
    with open(path) as file:
        return [line for line in file if "timestamps" not in line]


v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
step = tf.train.get_or_create_global_step()
more = tf.group(v.assign_add(2.0), step.assign_add(1))
saver = tf.train.Saver(max_to_keep=20)
os.mkdir("ck")
os.makedirs("deep/er")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for prefix in ("ck/model", "./ck2/model", "deep/er/model", "here", "./dot"):
        if prefix == "./ck2/model":
            os.mkdir("ck2")
        result[f"saved {prefix}"] = saver.save(sess, prefix, global_step=3)
        folder = os.path.dirname(prefix) or "."
        result[f"file {prefix}"] = text_of(os.path.join(folder, "checkpoint"))
        result[f"latest {prefix}"] = tf.train.latest_checkpoint(os.path.dirname(prefix) or ".")
    result["absolute"] = os.path.relpath(saver.save(sess, os.path.abspath("ck/abs")))
    result["latest absolute"] = os.path.relpath(tf.train.latest_checkpoint("ck"))
result["latest slash"] = os.path.relpath(tf.train.latest_checkpoint("ck/"))
result["latest none"] = tf.train.latest_checkpoint("nothing")
state = tf.train.get_checkpoint_state("deep/er")
result["state"] = [state.model_checkpoint_path, list(state.all_model_checkpoint_paths)]
os.mkdir("made")
tf.train.update_checkpoint_state("made", "made/model-1", ["made/model-0", "made/model-1"])
result["updated"] = text_of("made/checkpoint")
made = tf.train.generate_checkpoint_state_proto("made", "made/m-1", ["made/m-0"])
result["generated"] = [made.model_checkpoint_path, list(made.all_model_checkpoint_paths)]
made = tf.train.generate_checkpoint_state_proto("/abs/made", "/abs/made/m-1")
result["generated absolute"] = [made.model_checkpoint_path, list(made.all_model_checkpoint_paths)]
os.mkdir("empty")
open("empty/checkpoint", "w").close()
result["empty"] = error_of(lambda: tf.train.get_checkpoint_state("empty"))
result["empty latest"] = error_of(lambda: tf.train.latest_checkpoint("empty"))
with open("empty/checkpoint", "w") as file:
    file.write("no proto at all {")
result["broken"] = error_of(lambda: tf.train.get_checkpoint_state("empty"))
os.mkdir("odd")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["odd"] = tf.train.Saver().save(sess, "odd/checkpoint", global_step=1)
    result["odd latest"] = tf.train.latest_checkpoint("odd")
    result["named checkpoint"] = error_of(lambda: tf.train.Saver().save(sess, "odd/checkpoint"))
for start in (1, 2, 3):
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir="rel/train", log_step_count_steps=None
    ) as s:
        result[f"monitored {start}"] = float(s.run(v))
        s.run(more)
        result[f"monitored step {start}"] = int(s.run(step))
for start in (1, 2, 3):
    supervisor = tf.train.Supervisor(logdir="sup", saver=saver, global_step=step, summary_op=None)
    with supervisor.managed_session() as s:
        result[f"supervisor {start}"] = float(s.run(v))
        s.run(more)
        supervisor.saver.save(s, supervisor.save_path, global_step=supervisor.global_step)
os.rename("ck", "moved")
result["moved"] = tf.train.latest_checkpoint("moved")
os.chdir("deep")
result["other folder"] = tf.train.latest_checkpoint("er")
with tf.Session() as sess:
    saver.restore(sess, "er/model-3")
    result["restored"] = sess.run(v)
result["exists"] = [
    tf.train.checkpoint_exists("er/model-3"),
    tf.train.checkpoint_exists("er/model"),
]
result["remove"] = error_of(lambda: tf.train.remove_checkpoint("er/model-3"))
result["removed"] = sorted(os.listdir("er"))
