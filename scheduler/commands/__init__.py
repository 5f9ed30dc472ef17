"""The operator's commands: `flask --app app NOUN VERB`. Data on stdout, logs on stderr."""

from scheduler.commands.database import db, outbox_group
from scheduler.commands.imports import imports
from scheduler.commands.queues import dead_letter_group, queue_group

GROUPS = (db, imports, outbox_group, queue_group, dead_letter_group)
