# issue 3: the small things that programs lean on
import sys

sys.argv = ["program", "--rate=0.5", "--layers", "3", "--name=net", "--noquiet", "--many=a,b"]
flags = tf.app.flags
flags.DEFINE_float("rate", 0.1, "Learning rate.")
flags.DEFINE_integer("layers", 1, "How many layers.")
flags.DEFINE_string("name", None, "Name.")
flags.DEFINE_boolean("quiet", True, "Quiet.")
flags.DEFINE_bool("loud", False, "Loud.")
flags.DEFINE_list("many", [], "List.")
flags.DEFINE_enum("kind", "x", ["x", "y"], "Kind.")
FLAGS = flags.FLAGS


def main(argv):
    result["argv"] = list(argv)
    result["flags"] = [
        FLAGS.rate,
        FLAGS.layers,
        FLAGS.name,
        FLAGS.quiet,
        FLAGS.loud,
        FLAGS.many,
        FLAGS.kind,
    ]


result["exit"] = None
try:
    tf.app.run()
except SystemExit as leaving:
    result["exit"] = leaving.code or 0
FLAGS.rate = 0.9
result["set"] = FLAGS.rate
result["missing"] = error_of(lambda: FLAGS.nothing)
base = tmp_dir + "/a/b"
tf.gfile.MakeDirs(base)
result["exists"] = [
    tf.gfile.Exists(base),
    tf.gfile.IsDirectory(base),
    tf.gfile.Exists(base + "/no"),
]
with tf.gfile.GFile(base + "/file.txt", "w") as f:
    f.write("one\ntwo\nthree\n")
with tf.gfile.Open(base + "/file.txt") as f:
    result["line"] = f.readline()
    result["rest"] = f.read()
with tf.gfile.FastGFile(base + "/file.txt", "rb") as f:
    result["bytes"] = f.read()
    result["size"] = f.size()
with tf.gfile.GFile(base + "/file.txt") as f:
    result["lines"] = [line.rstrip() for line in f]
tf.gfile.Copy(base + "/file.txt", base + "/copy.txt", overwrite=True)
tf.gfile.Rename(base + "/copy.txt", base + "/moved.txt")
result["listed"] = sorted(tf.gfile.ListDirectory(base))
result["globbed"] = sorted(name.split("/")[-1] for name in tf.gfile.Glob(base + "/*.txt"))
result["walk"] = [(len(d), sorted(f)) for _, d, f in tf.gfile.Walk(tmp_dir + "/a")]
result["stat"] = tf.gfile.Stat(base + "/file.txt").length
tf.gfile.Remove(base + "/moved.txt")
result["gone"] = tf.gfile.Exists(base + "/moved.txt")
result["copy_exists"] = error_of(lambda: tf.gfile.Copy(base + "/file.txt", base + "/file.txt"))
result["no_file"] = error_of(lambda: tf.gfile.GFile(base + "/nothing").read())
tf.gfile.DeleteRecursively(tmp_dir + "/a")
result["deleted"] = tf.gfile.Exists(base)
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("value %d", 3)
tf.logging.warning("careful")
result["verbosity"] = [
    tf.logging.get_verbosity(),
    tf.logging.DEBUG,
    tf.logging.INFO,
    tf.logging.WARN,
    tf.logging.ERROR,
    tf.logging.FATAL,
]
tf.logging.set_verbosity(tf.logging.ERROR)
result["error_level"] = tf.logging.get_verbosity()
