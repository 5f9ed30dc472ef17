"""The composition root: settings → logs → database → storage → create_app(); registers commands."""

from __future__ import annotations

import click
from flask import Flask
from pydantic import ValidationError

from jobs import logs, tracing
from jobs.settings import LogSettings, StorageSettings
from jobs.storage import Storage
from models import database
from models.settings import DatabaseSettings
from scheduler.commands import GROUPS
from scheduler.doctor.command import doctor_command
from web import factory
from web.diagnosis import check_sign_in
from web.settings import WebSettings


def create_app() -> Flask:
    """Build the web application, and the commands of `flask --app app`. Opens no connection."""
    application = _web_application()
    for command in (*GROUPS, doctor_command(WebSettings, check_sign_in)):
        application.cli.add_command(command)
    return application


def _web_application() -> Flask:
    """Build the whole, or for a command that needs less an application without the web's parts."""
    try:
        logs.configure("web", LogSettings())
        database.configure(DatabaseSettings())
        settings = WebSettings()
        tracing.configure("web", settings)
        return factory.create_app(settings, Storage(StorageSettings()))
    except ValidationError:
        if click.get_current_context(silent=True) is None:  # gunicorn, not a command
            raise
        return Flask(__name__)
