"""The running product against its own OpenAPI document, by schemathesis."""

import subprocess
import sys
from pathlib import Path

import httpx

from local.stack import Stack

#: Real ids, so that more than "not found" is looked at.
CONFIG = """
[parameters]
"path.child_id" = "{import_id}"
"path.endpoint_id" = "{endpoint_id}"
"path.event_id" = "{event_id}"

[[operations]]
include-path-regex = "/code2des/"
parameters = {{ "path.child_id" = "{code2des_id}" }}

[[operations]]
include-method = "GET"
include-path-regex = "/batches/"
parameters = {{ "path.batch_id" = "{batch_id}" }}
"""
#: gunicorn itself ends URLs beyond its limit.
HOOKS = """
import schemathesis

@schemathesis.hook
def filter_query(context, query):
    return sum(len(repr(value)) for value in (query or {}).values()) < 300
"""
#: A cursor, a file's name and the order of a form's parts cannot be written in a schema.
NOT_CHECKED = "positive_data_acceptance"
SECONDS = 20


def test_schemathesis_finds_no_lie_in_the_openapi_document(
    stack: Stack, api: httpx.Client, token: str, tmp_path: Path, upload, ended
) -> None:
    page_import = upload(b"hello", "memo.txt")
    code = upload(b"def f():\n    return 1\n", "memo.py", kind="code2des")
    ended(page_import["import_id"])
    ended(code["code2des_id"], kind="code2des")
    url = {"url": "http://127.0.0.1:65000/", "events": ["endpoint.disabled"]}
    endpoint = api.post("/api/v1/endpoints", json=url).json()
    sent = api.post(endpoint["links"]["test"]).json()
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        'hooks = "hooks"\n'
        + CONFIG.format(
            import_id=page_import["import_id"],
            code2des_id=code["code2des_id"],
            endpoint_id=endpoint["endpoint_id"],
            event_id=sent["event_id"],
            batch_id=page_import["batch_id"],
        )
    )
    (tmp_path / "hooks.py").write_text(HOOKS)
    done = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            f"--config-file={config}",
            "run",
            f"{stack.url}/openapi.json",
            f"--header=Authorization: Bearer {token}",
            "--checks=all",
            f"--exclude-checks={NOT_CHECKED}",
            "--phases=fuzzing",
            "--workers=4",
            "--seed=4",
            "--no-shrink",
            f"--max-time={SECONDS}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    for each in api.get("/api/v1/endpoints", params={"limit": 100}).json()["endpoints"]:
        api.delete(each["links"]["self"])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert "cases" in done.stdout
