"""Wrong answers to the exercises of lesson 9."""

MISTAKES = {
    "ex1": [
        "def read_line():\n"
        "    slope = tf.get_variable('slope', [])\n"
        "    offset = tf.get_variable('offset', [])\n"
        "    return slope, offset, tf.train.Saver()",
        "def read_line():\n"
        "    slope = tf.get_variable('slope', [])\n"
        "    offset = tf.get_variable('offset', [])\n"
        "    saver = tf.train.Saver({'Variable': offset, 'Variable_1': slope})\n"
        "    return slope, offset, saver",
        "def read_line():\n"
        "    slope = tf.Variable(0.0)\n"
        "    offset = tf.Variable(0.0)\n"
        "    return slope, offset, tf.train.Saver()",
    ],
    "ex2": [
        "def largest(path):\n"
        "    shapes = dict(tf.train.list_variables(path))\n"
        "    return max(shapes, key=lambda name: max(shapes[name], default=1))",
        "def largest(path):\n    return tf.train.list_variables(path)[0]",
    ],
    "ex3": [
        "def count_up(folder):\n"
        "    with tf.Graph().as_default(), tf.Session() as session:\n"
        "        count = tf.Variable(0, name='count')\n"
        "        session.run(count.initializer)\n"
        "        value = session.run(count.assign_add(1))\n"
        "        tf.train.Saver().save(session, str(Path(folder) / 'counter'))\n"
        "        return value",
        "def count_up(folder, kept=[0]):\n    kept[0] += 1\n    return kept[0]",
        "def count_up(folder):\n"
        "    with tf.Graph().as_default(), tf.Session() as session:\n"
        "        count = tf.Variable(0, name='count')\n"
        "        saver = tf.train.Saver()\n"
        "        saver.restore(session, tf.train.latest_checkpoint(str(folder)))\n"
        "        return session.run(count.assign_add(1))",
    ],
    "ex4": [
        "def log_squares(folder, num_steps):\n"
        "    writer = tf.summary.FileWriter(str(folder))\n"
        "    tf.summary.scalar('square', tf.constant(4.0))\n"
        "    writer.close()",
        "def log_squares(folder, num_steps):\n"
        "    with tf.Session() as session:\n"
        "        writer = tf.summary.FileWriter(str(folder))\n"
        "        for i in range(num_steps):\n"
        "            made = session.run(tf.summary.scalar('square', float(i * i)))\n"
        "            writer.add_summary(made, i)\n"
        "        writer.close()",
        "def log_squares(folder, num_steps):\n"
        "    with tf.Session() as session:\n"
        "        value = tf.placeholder(tf.float32, [])\n"
        "        record = tf.summary.scalar('square', value)\n"
        "        with tf.summary.FileWriter(str(folder)) as writer:\n"
        "            for i in range(num_steps):\n"
        "                writer.add_summary(session.run(record, {value: i * i}))",
    ],
    "ex5": [
        "kept = {}\ndef keep(sess, folder):\n    kept['all'] = sess.run(tf.global_variables())\ndef put_back(sess, folder):\n    sess.run(tf.global_variables_initializer())",
        "def keep(sess, folder):\n    tf.train.Saver(tf.global_variables()[:1]).save(sess, folder + '/a')\ndef put_back(sess, folder):\n    tf.train.Saver(tf.global_variables()[:1]).restore(sess, folder + '/a')",
        "keep = 1\nput_back = 1",
    ],
}
