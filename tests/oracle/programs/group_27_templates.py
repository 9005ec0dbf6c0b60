# issue 16: make_template
"""Group 27: make_template: scopes, variables, what is refused."""


def function(x):
    tf.get_variable("fixed", [], trainable=False)
    return tf.get_variable("v", []) + x


template = tf.make_template("foo", function)
result["first"] = template(1.0).name
result["second"] = template(1.0).name
for name in (
    "non_trainable_variables",
    "global_variables",
    "local_variables",
    "weights",
    "variables",
    "trainable_variables",
    "trainable_weights",
):
    result[name] = [v.name for v in getattr(template, name)]
result["variable_scope_name"] = template.variable_scope_name
result["scope"] = template.variable_scope.name
result["no_name"] = error_of(lambda: tf.make_template(None, function))
calls = []


def growing(x):
    calls.append(x)
    return x * tf.get_variable(f"w{len(calls)}", [])


grows = tf.make_template("grows", growing)
grows(1.0)
result["grows"] = error_of(lambda: grows(1.0))
shared = tf.make_template("shared", lambda x, s: x * tf.get_variable("s", []) + s, s=2.0)
result["shared"] = [shared(1.0).name, shared(1.0).name]
result["unique"] = tf.make_template("shared", function)(1.0).name
same = tf.make_template("same", function, unique_name_="exactly")
result["exactly"] = [same(1.0).name, [v.name for v in same.variables]]
late = tf.make_template("late", function, create_scope_now_=True)
with tf.variable_scope("outer"):
    result["late"] = [late(1.0).name, [v.name for v in late.variables]]
    result["inner"] = tf.make_template("inner", function)(1.0).name
