"""Make what the product expects of its AWS account: bucket, queues, user pool, one user.

Repeatable: what exists is kept and only put right. For the embedded default; an account of your
own is provisioned by deploy/.
"""

import contextlib
import json
from dataclasses import dataclass
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

_QUEUES = ("page_import", "code2des")
_VISIBILITY_SECONDS = 120
_RETENTION_SECONDS = 14 * 24 * 3600
#: Five deploys in a row may each interrupt the work once; the sixth receive completes it.
_MAX_RECEIVE_COUNT = 6
_FLOWS = ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]


@dataclass(frozen=True, kw_only=True)
class Account:
    """How to reach the account and what its parts are called; empty means boto3's own way."""

    endpoint_url: str
    region: str
    access_key_id: str
    secret_access_key: str
    bucket: str = "torikomi"
    namespace: str = "torikomi"


@dataclass(frozen=True, kw_only=True)
class Provisioned:
    """What was made or found: the user pool, its client and its first user."""

    pool_id: str
    client_id: str
    sub: str
    username: str
    password: str


def client(service: str, account: Account) -> Any:
    """Build a boto3 client for the account; no network."""
    return boto3.client(
        service,
        endpoint_url=account.endpoint_url or None,
        region_name=account.region,
        aws_access_key_id=account.access_key_id or None,
        aws_secret_access_key=account.secret_access_key or None,
        config=Config(connect_timeout=3, read_timeout=20, retries={"total_max_attempts": 5}),
    )


def provision(account: Account, *, username: str, password: str) -> Provisioned:
    """Make the missing parts, set their attributes, return the identifiers."""
    provision_store(account)
    return provision_user(account, username, password)


def provision_store(account: Account) -> None:
    """Make the versioned bucket, the queues and their dead-letter queues."""
    _bucket(account)
    sqs = client("sqs", account)
    for name in _QUEUES:
        _queue(sqs, f"{account.namespace}_{name}")


def provision_user(account: Account, username: str, password: str) -> Provisioned:
    """Make the user pool, its client and its first user; an existing user keeps its sub."""
    idp = client("cognito-idp", account)
    pool_id = _pool(idp, account.namespace)
    client_id = _pool_client(idp, pool_id, account.namespace)
    sub = _user(idp, pool_id, username, password)
    return Provisioned(
        pool_id=pool_id, client_id=client_id, sub=sub, username=username, password=password
    )


def access_token(account: Account, who: Provisioned) -> str:
    """Sign the user in and return a fresh access token."""
    return sign_in(account.endpoint_url, account.region, who.client_id, who.username, who.password)


def sign_in(endpoint_url: str, region: str, client_id: str, username: str, password: str) -> str:
    """Ask for an access token (InitiateAuth, which needs no AWS credentials)."""
    idp = boto3.client(
        "cognito-idp",
        endpoint_url=endpoint_url,
        region_name=region,
        config=Config(signature_version=UNSIGNED, connect_timeout=3, read_timeout=10),
    )
    answer = idp.initiate_auth(
        ClientId=client_id,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": username, "PASSWORD": password},
    )
    return str(answer["AuthenticationResult"]["AccessToken"])


def _bucket(account: Account) -> None:
    s3 = client("s3", account)
    place = {} if account.region == "us-east-1" else {"LocationConstraint": account.region}
    arguments = {"CreateBucketConfiguration": place} if place else {}
    try:
        s3.create_bucket(Bucket=account.bucket, **arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in (
            "BucketAlreadyOwnedByYou",
            "BucketAlreadyExists",
        ):
            raise
    s3.put_bucket_versioning(Bucket=account.bucket, VersioningConfiguration={"Status": "Enabled"})


def _queue(sqs: Any, name: str) -> None:
    dead = _queue_url(sqs, f"{name}_dlq")
    retention = {"MessageRetentionPeriod": str(_RETENTION_SECONDS)}
    sqs.set_queue_attributes(QueueUrl=dead, Attributes=retention)
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
    policy = {
        "deadLetterTargetArn": arn["Attributes"]["QueueArn"],
        "maxReceiveCount": _MAX_RECEIVE_COUNT,
    }
    sqs.set_queue_attributes(
        QueueUrl=_queue_url(sqs, name),
        Attributes={
            **retention,
            "VisibilityTimeout": str(_VISIBILITY_SECONDS),
            "RedrivePolicy": json.dumps(policy),
        },
    )


def _queue_url(sqs: Any, name: str) -> str:
    try:
        return str(sqs.get_queue_url(QueueName=name)["QueueUrl"])
    except sqs.exceptions.QueueDoesNotExist:
        return str(sqs.create_queue(QueueName=name)["QueueUrl"])


def _pool(idp: Any, name: str) -> str:
    found = idp.list_user_pools(MaxResults=60)["UserPools"]
    for pool in found:
        if pool["Name"] == name:
            return str(pool["Id"])
    return str(idp.create_user_pool(PoolName=name)["UserPool"]["Id"])


def _pool_client(idp: Any, pool_id: str, name: str) -> str:
    found = idp.list_user_pool_clients(UserPoolId=pool_id, MaxResults=60)["UserPoolClients"]
    for entry in found:
        if entry["ClientName"] == name:
            return str(entry["ClientId"])
    made = idp.create_user_pool_client(
        UserPoolId=pool_id, ClientName=name, ExplicitAuthFlows=_FLOWS
    )
    return str(made["UserPoolClient"]["ClientId"])


def _user(idp: Any, pool_id: str, username: str, password: str) -> str:
    # One from an earlier start is kept, and with it its sub.
    with contextlib.suppress(idp.exceptions.UsernameExistsException):
        idp.admin_create_user(
            UserPoolId=pool_id,
            Username=username,
            UserAttributes=[{"Name": "email", "Value": f"{username}@localhost"}],
            MessageAction="SUPPRESS",
        )
    idp.admin_set_user_password(
        UserPoolId=pool_id, Username=username, Password=password, Permanent=True
    )
    user = idp.admin_get_user(UserPoolId=pool_id, Username=username)
    return str(next(a["Value"] for a in user["UserAttributes"] if a["Name"] == "sub"))
