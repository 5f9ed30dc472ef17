"""What each process asks of AWS in a run end to end, held against its policy in the template."""

import base64
import hashlib
import json
import re
import socket
from collections import defaultdict
from copy import copy
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import click
import httpx
import pytest
from cfnlint.decode.cfn_yaml import load
from click.testing import CliRunner
from structlog.testing import capture_logs

from jobs.messages import JobMessage, encode_message
from jobs.storage import PART_BYTES
from scheduler.doctor.command import doctor_command
from tests.faults.product import PROCESSES, until
from tests.flow.papers import large_pdf
from web.diagnosis import check_sign_in
from web.settings import WebSettings

#: The whole run is the set-up of the first test.
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "deploy" / "aws" / "torikomi.yaml"
#: What the template's parameters and pseudo parameters are in the emulator.
NAMES = {
    "Namespace": "torikomi",
    "BucketName": "torikomi",
    "AWS::Partition": "aws",
    "AWS::Region": "ap-northeast-1",
    "AWS::AccountId": "000000000000",
}
SQS = f"arn:aws:sqs:{NAMES['AWS::Region']}:{NAMES['AWS::AccountId']}"


@pytest.fixture(scope="module")
def template():
    return load(str(TEMPLATE))


def resolve(template, value):
    """Return a value of the template with its names filled in."""
    if isinstance(value, list):
        return [resolve(template, each) for each in value]
    if not isinstance(value, dict):
        return value
    if "Ref" in value:
        return NAMES[value["Ref"]]
    if "Fn::Sub" in value:
        return re.sub(r"\$\{([\w:.]+)\}", lambda m: named(template, m[1]), value["Fn::Sub"])
    if "Fn::GetAtt" in value:
        return named(template, ".".join(value["Fn::GetAtt"]))
    return {key: resolve(template, each) for key, each in value.items()}


def named(template, name):
    """Return what `${Resource.Arn}` or a parameter stands for."""
    if not name.endswith(".Arn"):
        return NAMES[name]
    properties = template["Resources"][name.removesuffix(".Arn")]["Properties"]
    if "BucketName" in properties:
        return f"arn:aws:s3:::{resolve(template, properties['BucketName'])}"
    return f"{SQS}:{resolve(template, properties['QueueName'])}"


def statements(template, process):
    """Return (Sid, actions, resources, prefix) of each statement of a process's policy."""
    document = template["Resources"][f"{process.title()}Policy"]["Properties"]["PolicyDocument"]
    for statement in resolve(template, document)["Statement"]:
        assert statement["Effect"] == "Allow"
        actions, resources = (
            [statement[name]] if isinstance(statement[name], str) else statement[name]
            for name in ("Action", "Resource")
        )
        condition = statement.get("Condition", {})
        assert set(condition) <= {"StringLikeIfExists"}
        prefix = condition.get("StringLikeIfExists", {}).get("s3:prefix")
        yield statement["Sid"], actions, resources, prefix


def s3_needs(verb, path, body):
    """Yield (action, resource, prefix) that S3 asks for before it does this request.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
    """
    parts = urlsplit(path)
    bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
    query = parse_qs(parts.query, keep_blank_values=True)
    versioned = "Version" if "versionId" in query else ""
    arn = f"arn:aws:s3:::{bucket}" + (f"/{key}" if key else "")
    prefix = query.get("prefix", [None])[0]
    if not key and verb == "POST" and "delete" in query:
        for entry in re.findall(rb"<Object>(.*?)</Object>", body, flags=re.S):
            name = re.search(rb"<Key>(.*?)</Key>", entry)[1].decode()
            version = "Version" if b"<VersionId>" in entry else ""
            yield f"s3:DeleteObject{version}", f"{arn}/{name}", None
    elif not key:
        listed = "ListBucketVersions" if "versions" in query else "ListBucket"
        yield f"s3:{'GetBucketVersioning' if 'versioning' in query else listed}", arn, prefix
    elif verb in ("GET", "HEAD"):
        yield f"s3:GetObject{versioned}", arn, None
    elif verb == "DELETE":
        aborted = "uploadId" in query
        action = "AbortMultipartUpload" if aborted else f"DeleteObject{versioned}"
        yield f"s3:{action}", arn, None
    else:
        assert verb in ("PUT", "POST"), verb
        yield "s3:PutObject", arn, None


def needs(exchange):
    """Yield the rights that one recorded request needs; signing in needs none."""
    _, _, what = exchange.name.partition(" ")
    verb, _, path = what.partition(" ")
    if path:
        yield from s3_needs(verb, path, exchange.body)
    elif exchange.name.startswith("sqs "):
        asked = json.loads(exchange.body)
        queue = asked.get("QueueName") or asked["QueueUrl"].rpartition("/")[2]
        yield f"sqs:{verb.removesuffix('Batch')}", f"{SQS}:{queue}", None
    else:
        assert verb == "InitiateAuth", exchange.name


@pytest.fixture(scope="module")
def used(faulty_product):
    """Run the product through everything it does; return the rights each process needed."""
    product = faulty_product
    product.forget()
    asked = defaultdict(list)
    recorders = {
        process: lambda exchange, process=process: asked[process].append(copy(exchange))
        for process in PROCESSES
    }
    for process, record in recorders.items():
        product.aws[process].seen.append(record)
        if product.alive(process):
            product.kill(process)
    product.start(*PROCESSES, HOUSEKEEPING_PERIOD_SECONDS="0.5")
    break_off(product)
    take_in(product)
    lose_and_find_again(product)
    forget(product)
    examine(product)
    until(
        lambda: any("DELETE" in each.name and "uploadId" in each.name for each in asked["web"]), 20
    )
    for process, record in recorders.items():
        product.aws[process].seen.remove(record)
    return {
        process: {right for each in exchanges if each.status == 0 for right in needs(each)}
        for process, exchanges in asked.items()
    }


def take_in(product):
    """Files by every way, read by every way, one too large for a part, refused and broken ones."""
    api = product.api
    paper = product.upload(large_pdf(1), "足跡.pdf").json()["import_id"]
    product.upload(b"%PDF-1.7\n" + b"0" * (PART_BYTES + 1), "large.pdf")
    code = api.post("/api/v1/code2des", files={"file": ("a.py", b"x = 1\n")}).json()["code2des_id"]
    files = [("files", ("one.txt", b"one")), ("files", ("two.txt", b""))]
    assert api.post("/api/v1/batches", data={"type": "page_import"}, files=files).status_code == 422
    promised = {
        "file_name": "d.txt",
        "size_bytes": 6,
        "sha256": hashlib.sha256(b"direct").hexdigest(),
    }
    (upload,) = api.post("/api/v1/uploads", json={"files": [promised]}).json()["uploads"]
    assert httpx.put(upload["url"], headers=upload["headers"], content=b"direct").is_success
    batch = {"type": "page_import", "items": [{"upload_id": upload["upload_id"]}]}
    batch_id = api.post("/api/v1/batches", json=batch).json()["batch_id"]
    product.drain()
    for path in (
        f"imports/{paper}/source",
        f"imports/{paper}/result",
        f"imports/{paper}/pages",
        f"imports/{paper}/pages/1/image",
        f"code2des/{code}/design",
        f"batches/{batch_id}/export",
    ):
        assert api.get(f"/api/v1/{path}").status_code == 200, path


def break_off(product):
    """Begin an upload of many parts and go away in the middle."""
    lines = [
        "POST /api/v1/imports?filename=half.pdf HTTP/1.1",
        f"Host: 127.0.0.1:{product.stack.port}",
        f"Authorization: {product.api.headers['Authorization']}",
        "Content-Type: application/pdf",
        f"Content-Length: {30 << 20}",
    ]
    with socket.create_connection(("127.0.0.1", product.stack.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + b"0" * (PART_BYTES + (5 << 20)))


def lose_and_find_again(product):
    """A message that nobody can read, and a dead letter whose result was stored already."""
    sqs = product.sqs
    url = sqs.get_queue_url(QueueName="torikomi_page_import")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=base64.b64encode(b"{}").decode())
    until(lambda: "message_undecodable" in product.events("worker"), 20, "undecodable")
    (row,) = product.sql(
        """SELECT c.id, i.message FROM page_import c JOIN batch_item i ON i.job_id = c.id
           WHERE c.status = 'completed' ORDER BY c.id LIMIT 1"""
    )
    product.sql("DELETE FROM page WHERE page_import_id = %s", (row["id"],))
    product.sql(
        """UPDATE page_import SET status = 'processing', completed_at = NULL,
               result_sha256 = NULL WHERE id = %s""",
        (row["id"],),
    )
    (other,) = product.sql(
        "SELECT i.message FROM code2des c JOIN batch_item i ON i.job_id = c.id LIMIT 1"
    )
    for kind, message in (("page_import", row["message"]), ("code2des", other["message"])):
        dead = sqs.get_queue_url(QueueName=f"torikomi_{kind}_dlq")["QueueUrl"]
        sqs.send_message(QueueUrl=dead, MessageBody=encode_message(JobMessage.from_json(message)))
        until(lambda kind=kind: product.queue_depth(f"{kind}_dlq") == 0, 30, "drained")
    product.drain()


def forget(product):
    """Let a hundred days pass over what has ended."""
    for table in ("page_import", "code2des"):
        product.sql(
            f"""UPDATE {table} SET created_at = created_at - interval '100 days',
                   completed_at = completed_at - interval '100 days'"""
        )
    until(lambda: {"source_expired", "result_expired"} <= set(product.events("scheduler")), 30)


def examine(product):
    """Have the operator look at each process's parts, with its rights."""
    commands = click.Group(commands=[doctor_command(WebSettings, check_sign_in)])
    for process in PROCESSES:
        words = ["doctor", "--process", process, *(["--write"] if process == "web" else [])]
        with pytest.MonkeyPatch.context() as patch, capture_logs():
            for name, value in product.env(process).items():
                patch.setenv(name, value)
            done = CliRunner().invoke(commands, words)
        assert "unavailable" not in done.stdout, done.stdout


@pytest.mark.parametrize("process", PROCESSES)
def test_every_call_of_a_process_is_allowed_by_its_policy(template, used, process):
    granted = list(statements(template, process))

    def allowed(action, resource, prefix):
        return any(
            action in actions
            and any(fnmatchcase(resource, pattern) for pattern in resources)
            and (wanted is None or prefix is None or fnmatchcase(prefix, wanted))
            for _, actions, resources, wanted in granted
        )

    assert used[process], "nothing was recorded"
    assert not [each for each in sorted(used[process], key=str) if not allowed(*each)]


@pytest.mark.parametrize("process", PROCESSES)
def test_a_policy_grants_nothing_that_was_not_used_or_is_not_explained(template, used, process):
    unused = {
        f"{process} {sid} {action} {resource.rpartition(':')[2]}"
        for sid, actions, resources, _ in statements(template, process)
        for action in actions
        for resource in resources
        if not any(
            needed == action and fnmatchcase(place, resource) for needed, place, _ in used[process]
        )
    }
    explained = template["Metadata"]["UnusedRights"]
    assert unused == {name for name in explained if name.startswith(f"{process} ")}
    assert all(len(reason) > 20 for reason in explained.values())
