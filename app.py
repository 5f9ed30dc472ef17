"""The composition root: settings → logs → database → storage → create_app(); registers commands."""

from __future__ import annotations

from flask import Flask

from jobs import logs
from jobs.settings import LogSettings, StorageSettings
from jobs.storage import Storage
from models import database
from models.settings import DatabaseSettings
from scheduler.commands import GROUPS
from web import factory
from web.settings import WebSettings


def create_app() -> Flask:
    """Build the web application, and the commands of `flask --app app`. Opens no connection."""
    logs.configure("web", LogSettings())
    database.configure(DatabaseSettings())
    application = factory.create_app(WebSettings(), Storage(StorageSettings()))
    for group in GROUPS:
        application.cli.add_command(group)
    return application
