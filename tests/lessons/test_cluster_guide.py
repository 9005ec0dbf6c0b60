"""The teacher's guide to clusters: manifests against their schemas, and the guide against both.

Kubernetes' own schemas come with the package kubernetes-validate; those of KubeRay's RayCluster and of
the JupyterHub chart's values are in `schemas/`, as far as the guide uses them.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from dataflow.cli import build_parser

GUIDE = Path(__file__).resolve().parents[2] / "lessons" / "cluster"
SCHEMAS = Path(__file__).parent / "schemas"
KUBERNETES = "1.31"
TEXT = (GUIDE / "README.md").read_text(encoding="utf-8")
MANIFESTS = ["jupyter.yaml", "network.yaml", "raycluster.yaml"]


def documents(name: str) -> list[dict[str, Any]]:
    return [d for d in yaml.safe_load_all((GUIDE / name).read_text(encoding="utf-8")) if d]


def schema(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


def validate(document: dict[str, Any]) -> None:
    """Raises where a document is not what its kind asks for; unknown fields are errors."""
    if document["kind"] != "RayCluster":
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
        return
    jsonschema.validate(document, schema("raycluster"))
    spec = document["spec"]
    for group in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
        kubernetes_validate.validate(
            {
                "apiVersion": "v1",
                "kind": "PodTemplate",
                "metadata": {"name": "of-ray"},
                "template": group["template"],
            },
            KUBERNETES,
            strict=True,
        )


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_are_what_their_schemas_ask_for(name: str) -> None:
    found = documents(name)
    assert found
    for document in found:
        validate(document)


def test_the_values_of_the_hub_are_what_the_chart_takes() -> None:
    (values,) = documents("jupyterhub-values.yaml")
    jsonschema.validate(values, schema("jupyterhub_values"))


def test_every_yaml_file_is_checked() -> None:
    assert {p.name for p in GUIDE.glob("*.y*ml")} == {*MANIFESTS, "jupyterhub-values.yaml"}


def changed(name: str, kind: str, place: list[Any], value: Any) -> dict[str, Any]:
    """A document of a file with one thing in it changed."""
    (document,) = [copy.deepcopy(d) for d in documents(name) if d["kind"] == kind]
    inner: Any = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return document


_POD = ["spec", "template", "spec"]
_GROUP = ["spec", "workerGroupSpecs", 1]


@pytest.mark.parametrize(
    ("name", "kind", "place", "value"),
    [
        ("jupyter.yaml", "Deployment", [*_POD, "containers", 0, "imagee"], "x"),
        ("jupyter.yaml", "Deployment", [*_POD, "containers", 0, "ports", 0, "containerPort"], "x"),
        ("jupyter.yaml", "Service", ["spec", "ports", 0, "port"], "http"),
        ("network.yaml", "NetworkPolicy", ["spec", "ingres"], []),
        ("raycluster.yaml", "RayCluster", [*_GROUP, "replica"], 3),
        ("raycluster.yaml", "RayCluster", [*_GROUP, "rayStartParams", "num-cpus"], 1),
        ("raycluster.yaml", "RayCluster", [*_GROUP, "replicas"], "4"),
        ("raycluster.yaml", "RayCluster", ["spec", "rayVersion"], 2.6),
        (
            "raycluster.yaml",
            "RayCluster",
            [*_GROUP, "template", "spec", "containers", 0, "resource"],
            {},
        ),
    ],
)
def test_a_mistake_is_found(name: str, kind: str, place: list[Any], value: Any) -> None:
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        validate(changed(name, kind, place, value))


def test_a_mistake_in_the_values_is_found() -> None:
    (values,) = documents("jupyterhub-values.yaml")
    values["singleuser"]["networkPolicy"]["egressAllowRules"]["privateIP"] = True
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, schema("jupyterhub_values"))


def containers(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield from document.get("containers", [])
        document = list(document.values())
    if isinstance(document, list):
        for each in document:
            yield from containers(each)


def test_one_image_and_one_ray_everywhere() -> None:
    images = {c["image"] for n in MANIFESTS for d in documents(n) for c in containers(d)}
    (image,) = images
    (values,) = documents("jupyterhub-values.yaml")
    hub = values["singleuser"]["image"]
    assert image == f"{hub['name']}:{hub['tag']}"
    assert f"-t {image} ." in TEXT and f"docker push {image}" in TEXT
    (cluster,) = documents("raycluster.yaml")
    recipe = (GUIDE / "Dockerfile").read_text(encoding="utf-8")
    version = cluster["spec"]["rayVersion"]
    assert re.findall(r"rayproject/ray:(\S+?)-py", recipe) == [version]
    assert re.findall(r'"ray==([^"]+)"', recipe) == [version]


def test_two_parameter_servers_and_several_workers() -> None:
    (cluster,) = documents("raycluster.yaml")
    groups = {g["groupName"]: g for g in cluster["spec"]["workerGroupSpecs"]}
    assert groups["ps"]["replicas"] == 2
    assert groups["worker"]["replicas"] >= 3
    for group in groups.values():
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


def offered() -> dict[str, float]:
    """What the nodes of the manifest offer by name, over all replicas."""
    (cluster,) = documents("raycluster.yaml")
    total: dict[str, float] = {}
    for group in cluster["spec"]["workerGroupSpecs"]:
        # KubeRay puts the text behind `ray start --resources=`, for a shell.
        (text,) = shlex.split(group["rayStartParams"]["resources"])
        for name, amount in json.loads(text).items():
            total[name] = total.get(name, 0) + amount * group["replicas"]
    return total


def launch_arguments() -> dict[str, Any]:
    """The arguments of the guide's call of `tf.cluster.launch`."""
    (source,) = re.findall(r"tf\.cluster\.launch\(\n.*?\n   \)", TEXT, flags=re.S)
    call = ast.parse(source.strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    return {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}


def test_the_guides_launch_fits_the_manifest() -> None:
    arguments = launch_arguments()
    counts = {"ps": arguments["ps"], "worker": arguments["workers"]}
    asked: dict[str, float] = {}
    for job, options in arguments["resources"].items():
        for name, amount in options["resources"].items():
            asked[name] = asked.get(name, 0) + amount * counts[job]
    assert asked == offered()


def test_services_and_volumes_have_the_names_that_are_used() -> None:
    (cluster,) = documents("raycluster.yaml")
    head = f"{cluster['metadata']['name']}-head-svc:6379"  # KubeRay's name for it
    by_kind = {d["kind"]: d for d in documents("jupyter.yaml")}
    pod = by_kind["Deployment"]["spec"]["template"]
    jupyter, tensorboard = pod["spec"]["containers"]
    told = {e["name"]: e.get("value") for e in jupyter["env"]}
    assert told["RAY_HEAD"] == head
    (values,) = documents("jupyterhub-values.yaml")
    assert values["singleuser"]["extraEnv"]["RAY_ADDRESS"] == head
    (ingress,) = values["singleuser"]["networkPolicy"]["ingress"]
    (peer,) = ingress["from"]
    assert peer["podSelector"]["matchLabels"] == {"ray.io/cluster": cluster["metadata"]["name"]}
    claimed = {v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"][:1]}
    assert claimed == {by_kind["PersistentVolumeClaim"]["metadata"]["name"]}
    labels = pod["metadata"]["labels"].items()
    assert by_kind["Service"]["spec"]["selector"].items() <= labels
    ports = {p["name"] for c in (jupyter, tensorboard) for p in c["ports"]}
    assert {p["targetPort"] for p in by_kind["Service"]["spec"]["ports"]} == ports
    secret = jupyter["env"][1]["valueFrom"]["secretKeyRef"]
    assert f"create secret generic {secret['name']} --from-literal={secret['key']}=" in TEXT


def commands(text: str) -> list[list[str]]:
    """The `dataflow` commands in a text, as a shell would split them."""
    text = text.replace("\\\n", " ").replace('"$RAY_HEAD"', "head:6379")
    found = re.findall(
        r"(?:^|exec |`)\s*dataflow ((?:lab|course|doctor)\b[^`\n]*)", text, flags=re.M
    )
    return [shlex.split(each) for each in found]


def test_the_commands_of_the_guide_are_the_programs() -> None:
    texts = [TEXT, (GUIDE / "jupyter.yaml").read_text(), (GUIDE.parent / "README.md").read_text()]
    found = [command for text in texts for command in commands(text)]
    assert len(found) > 5
    for command in found:
        options, rest = build_parser().parse_known_args(command)
        assert all(r.startswith("--ip=") for r in rest), command
        if "--cluster" in command:
            assert options.cluster.endswith(":6379")


def test_links_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-")
        for h in re.findall(r"^#+ (.*)$", TEXT, flags=re.M)
    }
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        if target.startswith("#"):
            assert target[1:] in headings, target
        elif not target.startswith("https://"):
            assert (GUIDE / target).exists(), target
    for name in re.findall(r"-f ([\w.-]+\.yaml)|--values ([\w.-]+)", TEXT):
        assert (GUIDE / (name[0] or name[1])).exists(), name


LAUNCH = """
import json, sys
import ray
offered, arguments = map(json.loads, sys.argv[1:])
ray.init(address="local", num_cpus=2, resources=offered, include_dashboard=False,
         object_store_memory=80_000_000, _node_ip_address="127.0.0.1", log_to_driver=False)
import dataflow as tf
with tf.cluster.launch(**arguments) as cluster:
    left = ray.available_resources()
    print(json.dumps([cluster.spec.num_tasks(job) for job in ("ps", "worker")]
                     + [left.get(name, 0) for name in offered]))
ray.shutdown()
"""


@pytest.mark.cluster
@pytest.mark.slow
def test_the_guides_launch_runs_on_a_ray_that_offers_the_same(tmp_path: Path) -> None:
    there, arguments = offered(), launch_arguments()
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, json.dumps(there), json.dumps(arguments)],
        cwd=tmp_path, capture_output=True, text=True, timeout=280,
        # The machine may be busy with other tests.
        env={**os.environ, "RAY_raylet_start_wait_time_s": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    # Every task took its node: nothing is left of what the nodes offered.
    assert json.loads(done.stdout.splitlines()[-1]) == [2, 4, 0, 0]
