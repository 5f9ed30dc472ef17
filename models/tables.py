"""The Peewee declarations that inserts go through; the migrations are the truth of the schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from peewee import CharField, CompositeKey, FloatField, IntegerField, Model, TextField
from playhouse.postgres_ext import BinaryJSONField, DateTimeTZField

from models.database import database, execute
from models.states import ImportType


class _Table(Model):
    created_at = DateTimeTZField()
    updated_at = DateTimeTZField()
    deleted_at = DateTimeTZField(null=True)
    created_by = CharField(50)
    updated_by = CharField(50)
    deleted_by = CharField(50, null=True)

    class Meta:
        database = database
        legacy_table_names = False


class Batch(_Table):
    """One request."""

    id = CharField(255, primary_key=True)
    type = TextField()
    name = TextField(null=True)


class BatchItem(_Table):
    """The outbox row: exactly the source table's columns."""

    id = CharField(255, primary_key=True)
    batch_id = CharField(255)
    position = IntegerField()
    request = BinaryJSONField()
    job_id = CharField(255, null=True)
    message = BinaryJSONField(null=True)
    dispatched_at = DateTimeTZField(null=True)
    lease_until = DateTimeTZField(null=True)
    dispatch_attempts = IntegerField()
    error_message = TextField(null=True)
    cancelled_at = DateTimeTZField(null=True)


class _Child(_Table):
    id = CharField(255, primary_key=True)
    batch_id = CharField(255)
    status = TextField()
    bucket = TextField()
    object_key = TextField()
    object_version = TextField(null=True)
    file_name = TextField()
    content_type = TextField()
    size_bytes = IntegerField()
    sha256 = CharField(64)
    stored_at = DateTimeTZField()


class PageImport(_Child):
    """A document on its way to pages."""


class Code2Des(_Child):
    """Source code on its way to a design document."""

    class Meta:
        table_name = "code2des"


class Page(_Table):
    """One page of a completed page import."""

    page_import_id = CharField(255)
    number = IntegerField()
    text = TextField()
    markdown = TextField()
    tables = BinaryJSONField()
    warnings = BinaryJSONField()
    width = FloatField(null=True)
    height = FloatField(null=True)
    image = BinaryJSONField(null=True)
    source = CharField(10)
    confidence = FloatField(null=True)

    class Meta:
        primary_key = CompositeKey("page_import_id", "number")


class Code2DesDesign(_Table):
    """The design document of a completed code2des."""

    code2des_id = CharField(255, primary_key=True)
    design = BinaryJSONField()
    markdown_ja = TextField()
    markdown_en = TextField()

    class Meta:
        table_name = "code2des_design"


class Code2DesSource(_Table):
    """One text that the design document of a completed code2des was made from."""

    code2des_id = CharField(255)
    number = IntegerField()
    path = TextField()
    content = TextField()

    class Meta:
        table_name = "code2des_source"
        primary_key = CompositeKey("code2des_id", "number")


class JobEvent(_Table):
    """One transition of one child."""

    id = CharField(255, primary_key=True)
    batch_id = CharField(255)
    child_id = CharField(255)
    run = IntegerField()
    component = CharField(50)
    event = TextField()
    from_status = TextField(null=True)
    to_status = TextField()
    detail = TextField(null=True)


class Upload(_Table):
    """One file that a client puts into S3 itself."""

    id = CharField(255, primary_key=True)
    file_name = TextField()
    content_type = TextField()
    size_bytes = IntegerField()
    sha256 = CharField(64)
    object_version = TextField(null=True)
    verified_at = DateTimeTZField(null=True)
    used_at = DateTimeTZField(null=True)
    expires_at = DateTimeTZField()


CHILD_TABLES: Mapping[ImportType, type[_Child]] = {
    ImportType.PAGE_IMPORT: PageImport,
    ImportType.CODE2DES: Code2Des,
}

#: Rows per INSERT: large enough to amortise the round trip, small enough to stay streaming.
INSERT_ROWS = 500


def insert_rows(table: type[_Table], rows: Iterable[Mapping[str, Any]]) -> int:
    """Insert rows in chunks and return their number. Needs an open transaction.

    Columns that a row leaves out take the database's default, so all rows have the same keys. A
    chunk travels as one JSON value: for 100,000 rows that is several times as fast as VALUES.
    """
    name = table._meta.table_name
    iterator, total = iter(rows), 0
    while chunk := list(islice(iterator, INSERT_ROWS)):
        columns = ", ".join(f'"{column}"' for column in chunk[0])
        execute(
            f"""INSERT INTO {name} ({columns})
                SELECT {columns} FROM json_populate_recordset(NULL::{name}, %s::json)""",
            (json.dumps(chunk, ensure_ascii=False, default=_plain),),
        )
        total += len(chunk)
    return total


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a column's value")
