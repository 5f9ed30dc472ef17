"""The running product against its own OpenAPI document, by schemathesis."""

from pathlib import Path

import httpx
import pytest

from local.stack import Stack
from tests.flow.contract import PHASES, check, some_ids

#: All phases together within half a minute; `python -m tests.flow.contract` takes its time.
SECONDS = {"coverage": 12, "stateful": 6, "fuzzing": 8}


@pytest.mark.parametrize("phase", PHASES)
def test_schemathesis_finds_no_lie_in_the_openapi_document(
    stack: Stack, api: httpx.Client, token: str, tmp_path: Path, phase: str
) -> None:
    ids = some_ids(api)
    done = check(stack.url, token, ids, tmp_path, phases=[phase], seconds=SECONDS[phase])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert "cases" in done.stdout
