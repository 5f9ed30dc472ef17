"""What can go wrong between the product and PostgreSQL.

ModelsError
├── DatabaseUnavailable     transient: no connection, a read-only standby, a lost session
│   ├── Contended           transient: deadlock, serialization failure or lock timeout
│   └── CommitUnknown       the connection was lost during COMMIT: the rows may be there
├── NotFound                no such row for this subject
├── Conflict                the row's state does not allow it
├── ReservationLost         another request has taken the idempotency key over
├── KeyInProgress           a request with the same idempotency key is still running
└── SchemaMismatch          the database's migrations are not those of this code
"""


class ModelsError(Exception):
    """Root of the room. `code` is stable and may be shown."""

    code = "models_error"


class DatabaseUnavailable(ModelsError):
    """PostgreSQL did not answer, or may not be written to just now."""

    code = "database_unavailable"


class Contended(DatabaseUnavailable):
    """A deadlock, a serialization failure or a lock timeout: the transaction was rolled back."""


class CommitUnknown(DatabaseUnavailable):
    """The connection was lost during COMMIT; nobody knows whether the rows are there."""


class NotFound(ModelsError):
    """No such row, or not this subject's."""

    code = "not_found"


class Conflict(ModelsError):
    """The state of the row does not allow this."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class ReservationLost(ModelsError):
    """The lease on the idempotency key ran out and another request has taken it over."""

    code = "idempotency_key_in_progress"


class KeyInProgress(ModelsError):
    """A request with the same idempotency key is still running."""

    code = "idempotency_key_in_progress"


class SchemaMismatch(ModelsError):
    """The database's migrations are not those of this code."""

    code = "schema_mismatch"
