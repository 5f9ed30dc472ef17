"""What can go wrong on the wire between web, scheduler, S3, SQS and worker.

JobsError
├── TransientError            the same call may succeed later
│   ├── StorageUnavailable    S3 did not answer, throttled or refused us
│   ├── ObjectCorrupt         the bytes read are not the bytes that were stored
│   ├── QueueUnavailable      the whole SQS request failed: nothing is known to be sent
│   └── WebUnavailable        the web process did not answer a report
└── PermanentError            the same call will fail again
    ├── ObjectMissing         S3 says that the key or version does not exist
    ├── MessageInvalid        a queue message does not decode to a known schema
    ├── ReportInvalid         a report body does not decode to a known schema
    ├── SignatureInvalid      a report is not signed by a holder of the secret
    └── SealInvalid           a sealed password is opened by none of our keys
"""


class JobsError(Exception):
    """Root of the room. `code` is stable and may be shown; the message must hold no secret."""

    code = "jobs_error"


class TransientError(JobsError):
    """The same call may succeed later."""

    code = "transient"


class PermanentError(JobsError):
    """The same call will fail again."""

    code = "permanent"


class StorageUnavailable(TransientError):
    """S3 did not answer, throttled or refused us."""

    code = "storage_unavailable"


class ObjectCorrupt(TransientError):
    """The bytes read from S3 are not the bytes that were stored."""

    code = "object_corrupt"


class QueueUnavailable(TransientError):
    """The whole SQS request failed; nothing is known to have been sent."""

    code = "queue_unavailable"

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        #: AWS's error code or the class of the client's error; safe to log and to show.
        self.reason = reason


class WebUnavailable(TransientError):
    """The web process did not answer a report."""

    code = "web_unavailable"


class ObjectMissing(PermanentError):
    """S3 says that the object does not exist."""

    code = "source_missing"


class MessageInvalid(PermanentError):
    """A queue message does not decode to a known schema."""

    code = "message_invalid"


class ReportInvalid(PermanentError):
    """A report body does not decode to a known schema."""

    code = "report_invalid"


class SignatureInvalid(PermanentError):
    """A report is not signed by a holder of the secret, or its time is off."""

    code = "signature_invalid"

    def __init__(self, message: str = "", *, reason: str = "signature") -> None:
        super().__init__(message)
        #: header, id_or_timestamp, clock or signature: where it went wrong, for counting.
        self.reason = reason


class SealInvalid(PermanentError):
    """A sealed password is opened by none of our keys."""

    code = "password_unreadable"
