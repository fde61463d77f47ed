"""Whatever the schema of the interface allows or forbids, the server answers as the schema says, and never fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.generation import GenerationMode

from fewpoint.web import live, queueing
from fewpoint.web.places import Root
from fewpoint.web.server import Options, create_app
from web.visits import make_options, make_root, serve_in_thread

load_all_checks()
NAMES = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
EXPECTED = [CHECKS.get_one(name) for name in NAMES]

schema = schemathesis.openapi.from_dict(create_app(Options(Root(Path("/nowhere")))).openapi())
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


def post(address: str, body: dict) -> dict:
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """An address and a project there; runs end at once, for only the answers are looked at."""
    root = make_root(tmp_path_factory.mktemp("schema") / "root")
    real, queueing.COMMAND, live.COMMAND = (queueing.COMMAND, live.COMMAND), ("false",), ("false",)
    with serve_in_thread(create_app(make_options(root))) as address:
        project = post(f"{address}/api/projects", {"input": "frames"})["id"]
        click = {"kind": "add_point", "object": "object", "frame": 0, "y": 20, "x": 20}
        post(f"{address}/api/projects/{project}/actions", {"action": click})
        post(f"{address}/api/projects/{project}/runs", {})
        yield address, project
    queueing.COMMAND, live.COMMAND = real


@schema.parametrize()
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_one_that_the_schema_allows(case, served):
    address, project = served
    if "project" in case.path_parameters:
        case.path_parameters["project"] = project
    if "run" in case.path_parameters and isinstance(case.path_parameters["run"], int):
        case.path_parameters["run"] = 1
    if isinstance((case.query or {}).get("object"), str):
        case.query["object"] = "object"
    case.call_and_validate(base_url=address, checks=EXPECTED)
