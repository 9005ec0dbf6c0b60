# issue 3: which nodes a gradient adds, by type
x = tf.placeholder(tf.float32, [3, 4], name="x")
w = tf.Variable(tf.ones([4, 2]), name="w")
b = tf.Variable(tf.zeros([2]), name="b")
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b), name="loss")
before = len(tf.get_default_graph().get_operations())
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
added = tf.get_default_graph().get_operations()[before:]
wanted = ("MatMul", "ApplyGradientDescent", "Sum", "BroadcastGradientArgs")
result["counts"] = {kind: sum(op.type == kind for op in added) for kind in wanted}
result["apply"] = [op.name for op in added if op.type == "ApplyGradientDescent"]
result["scope"] = sorted({op.name.split("/")[0] for op in added})
result["matmul"] = sorted(op.name for op in added if op.type == "MatMul")
result["shapes"] = [shape_of(g) for g in tf.gradients(loss, [w, b, x])]
