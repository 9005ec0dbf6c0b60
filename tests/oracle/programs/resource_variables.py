# issue 16: variables made with use_resource=True, by argument, scope and default
result["default"] = tf.resource_variables_enabled()
v = tf.get_variable("v", [3], initializer=tf.ones_initializer(), use_resource=True)
u = tf.Variable([1.0, 2.0], name="u", use_resource=True)
r = tf.get_variable("r", [], initializer=tf.zeros_initializer(), use_resource=False)
with tf.variable_scope("s", use_resource=True):
    with tf.variable_scope("t"):
        s = tf.get_variable("s", [], initializer=tf.zeros_initializer())
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        p = tf.get_variable("p", [4], initializer=tf.ones_initializer())
tf.enable_resource_variables()
result["enabled"] = tf.resource_variables_enabled()
d = tf.Variable(1.0, name="d")
tf.disable_resource_variables()
e = tf.Variable(1.0, name="e")
every = {"v": v, "u": u, "r": r, "s": s, "d": d, "e": e, "part": list(p)[0]}
result["kinds"] = {k: hasattr(x, "handle") for k, x in every.items()}
result["dtypes"] = {k: x.dtype.name for k, x in every.items()}
result["names"] = {k: x.name for k, x in every.items()}
result["variables"] = [x.name for x in tf.global_variables()]

# A use under control dependencies reads the variable after them.
with tf.control_dependencies([v.assign_add([1.0, 2.0, 3.0])]):
    result_after = tf.identity(v) * 2.0
changed = u.assign_add([1.0, 1.0])
twice = changed + u.assign_sub([0.5, 0.5]).read_value() * 0.0
scattered = v.scatter_update(tf.IndexedSlices([10.0], [1]))
loss = tf.reduce_sum(v * v) + tf.reduce_sum(tf.gather(u, [1, 1]))
gradients = tf.gradients(loss, [v, u])
by_handle = tf.gradients(loss, v.handle)[0]
branch = tf.cond(tf.constant(True), lambda: v.assign([1.0, 1.0, 1.0]) + 1.0, lambda: v + 0.0)
loop = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + s.assign_add(1.0)), [0, 0.0])
train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, var_list=[v, u])
rows = tf.train.GradientDescentOptimizer(0.1).minimize(tf.gather(u, [1, 1]), var_list=[u])


class Steps(tf.train.GradientDescentOptimizer):
    """Has its own rules for resource variables."""

    def _resource_apply_dense(self, grad, handle):
        return handle.assign_sub(grad, read_value=False)

    def _resource_apply_sparse(self, grad, handle, indices):
        return handle.scatter_sub(tf.IndexedSlices(grad * 10.0, indices)).op

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        return self._resource_apply_sparse(grad, handle, indices)


own = Steps(0.1).minimize(loss, var_list=[v, u])
adam = tf.train.AdamOptimizer(0.1).minimize(loss, var_list=[v, u])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    result["after"] = session.run(result_after)
    result["changed"] = session.run(changed)
    result["value"] = session.run(u)
    result["in one expression"] = error_of(lambda: session.run(twice))
    result["scattered"] = session.run(scattered)
    result["gradient"] = session.run(gradients[0])
    result["rows"] = [session.run(gradients[1].values), session.run(gradients[1].indices)]
    result["by handle"] = session.run(by_handle)
    result["branch"] = session.run(branch)
    result["loop"] = session.run(loop[1])
    u.load([5.0, 6.0], session)
    result["loaded"] = session.run(u)
    session.run(train)
    session.run(adam)
    session.run(rows)
    session.run(own)
    result["trained"] = session.run([v, u])
    result["slice"] = session.run(v[1:].assign([7.0, 8.0]))
    result["parts"] = session.run(p.as_tensor())
    tf.train.Saver([v, u]).save(session, tmp_dir + "/model")
    session.run(v.assign(tf.zeros([3])))
    tf.train.Saver([v, u]).restore(session, tmp_dir + "/model")
    result["restored"] = session.run([v, u])
    meta = tf.train.export_meta_graph()
tf.reset_default_graph()
tf.train.import_meta_graph(meta)
result["imported"] = {
    x.name: hasattr(x, "handle") for x in tf.global_variables() if "/" not in x.name
}
