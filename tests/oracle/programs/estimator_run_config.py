# issue 5: what RunConfig makes of TF_CONFIG, for every task of a cluster

import json
import os

cluster = {
    "chief": ["host0:1"],
    "worker": ["host1:1", "host2:1"],
    "ps": ["host3:1", "host4:1"],
}
with_master = {"master": ["host0:1"], "worker": ["host1:1"], "ps": ["host3:1"]}


def config(cluster, kind, index, **more):
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": cluster, "task": {"type": kind, "index": index}, **more}
    )
    return tf.estimator.RunConfig()


def facts(found):
    filters = None if found.session_config is None else list(found.session_config.device_filters)
    soft = None if found.session_config is None else found.session_config.allow_soft_placement
    return [
        found.task_type,
        found.task_id,
        found.is_chief,
        found.master,
        found.evaluation_master,
        found.num_ps_replicas,
        found.num_worker_replicas,
        found.global_id_in_cluster,
        sorted(found.cluster_spec.jobs),
        filters,
        soft,
    ]


for kind, index in (("chief", 0), ("worker", 0), ("worker", 1), ("ps", 1), ("evaluator", 0)):
    result[f"{kind}_{index}"] = facts(config(cluster, kind, index))
for kind in ("master", "worker", "ps"):
    result[f"with_master_{kind}"] = facts(config(with_master, kind, 0))
result["one_task"] = facts(config({"chief": ["host0:1"]}, "chief", 0))
result["given_master"] = facts(config(cluster, "chief", 0, session_master="grpc://other:2"))
os.environ["TF_CONFIG"] = json.dumps({"task": {"type": "worker", "index": 0}})
result["alone"] = facts(tf.estimator.RunConfig())
os.environ["TF_CONFIG"] = json.dumps({"task": {"type": "evaluator", "index": 0}})
result["evaluator_alone"] = error_of(tf.estimator.RunConfig)
del os.environ["TF_CONFIG"]
result["nothing"] = facts(tf.estimator.RunConfig())
session_config = tf.ConfigProto(allow_soft_placement=False)
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
result["given_session_config"] = facts(tf.estimator.RunConfig(session_config=session_config))
result["no_chief"] = error_of(lambda: config({"worker": ["a:1"]}, "worker", 0))
result["two_chiefs"] = error_of(lambda: config({"chief": ["a:1", "b:1"]}, "chief", 0))
result["chief_and_master"] = error_of(lambda: config({**cluster, "master": ["x:1"]}, "chief", 0))
result["evaluator_in_cluster"] = error_of(
    lambda: config({**cluster, "evaluator": ["x:1"]}, "evaluator", 0)
)
result["evaluator_with_master"] = error_of(lambda: config(with_master, "evaluator", 0))
result["unknown_type"] = error_of(lambda: config(cluster, "gateway", 0))
result["index_too_large"] = error_of(lambda: config(cluster, "worker", 2))
result["negative_index"] = error_of(lambda: config(cluster, "worker", -1))
result["missing_task"] = error_of(
    lambda: (
        os.environ.update(TF_CONFIG=json.dumps({"cluster": cluster})),
        tf.estimator.RunConfig(),
    )
)
result["alone_worker_1"] = error_of(lambda: config({}, "worker", 1))
result["alone_ps"] = error_of(lambda: config({}, "ps", 0))
