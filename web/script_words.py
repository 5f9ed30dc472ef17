"""The words that the upload script shows, in the reader's language; `{name}` marks a value."""

from __future__ import annotations

from flask_babel import gettext


def script_words() -> dict[str, str]:
    """Return every text of static/upload.js and static/live.js."""
    words = {
        "waiting": gettext("Waiting to be sent"),
        "sending": gettext("Sending, {percent} %"),
        "storing": gettext("Sent, being stored"),
        "accepted": gettext("Safely stored, waiting to be queued"),
        "again": gettext("Connection lost. Trying again in {seconds} s"),
        "stopped": gettext("Sending was cancelled"),
        "signed_out": gettext("Not sent: you were signed out"),
        "not_reached": gettext("The server cannot be reached. The file is still here."),
        "too_large": gettext("Too large: {size}. The limit is {limit} a file."),
        "empty": gettext("The file is empty."),
        "kind": gettext("Files of this kind cannot be read yet ({extension})."),
        "too_many": gettext(
            "{count} files were chosen; {limit} at a time is the limit. The first {limit} are sent."
        ),
        "hidden_files": gettext("Left out: {count} hidden files."),
        "nothing": gettext("There was no file in what was dropped."),
        "unsent": gettext(
            "These files had not been sent when the page was left. Choose them again: {names}"
        ),
        "other_person": gettext("Somebody else is signed in now. Reload the page to go on."),
        "said_added": gettext("{count} files added."),
        "said_accepted": gettext("{name} is safely stored."),
        "said_state": gettext("{name}: {state}"),
        "said_many": gettext("{count} files have changed their state."),
        "offline": gettext("The server does not answer. Trying again by itself."),
        "session_over": gettext("You were signed out."),
        "copied": gettext("Copied"),
        "found": gettext("{at} of {count}"),
        "found_none": gettext("Not found"),
    }
    return {name: str(text) for name, text in words.items()}
