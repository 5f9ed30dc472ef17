"""How work on one message ends other than well.

JobsError
├── LeaveMessage           not deleted: SQS delivers it again after a back-off
│   └── Interrupted        the process stops: visible again at once
├── ReportStopped          the web answered 409: cancelled, terminal or another run; ack
├── PermanentError
│   └── Verdict            the file has no result, and why
├── ImportUnknown          the web answered 404
├── ReportRefused          the web answered 400, 413 or 422: a fault of ours
└── TransientError
    ├── WebUnavailable
    │   └── ReportUnauthorized   the web answered 401: secrets or clocks differ
    ├── SandboxLost        the helper died with the child; nothing is known about the file
    └── DiskTrouble        the machine could not write a temporary file
"""

from __future__ import annotations

from jobs.errors import JobsError, PermanentError, TransientError, WebUnavailable


class LeaveMessage(JobsError):
    """The message stays in the queue and comes again after a back-off."""

    code = "message_left"


class Interrupted(LeaveMessage):
    """The worker stops; the message is visible again at once."""

    code = "interrupted"


class ReportStopped(JobsError):
    """The web wants no more of this run: the import is cancelled, terminal or in another run."""

    code = "report_stopped"


class Verdict(PermanentError):
    """The file has no result, and why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ImportUnknown(JobsError):
    """The web does not know the import, or not yet."""

    code = "import_unknown"


class ReportRefused(JobsError):
    """The web refused the form of a report: worker and web do not fit together."""

    code = "report_refused"


class ReportUnauthorized(WebUnavailable):
    """The web refused our signature: secrets or clocks differ."""

    code = "report_unauthorized"


class SandboxLost(TransientError):
    """The helper died while it parsed; nothing is known about the file."""

    code = "sandbox_lost"


class DiskTrouble(TransientError):
    """A temporary file could not be written."""

    code = "disk_trouble"
