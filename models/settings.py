"""How this process reaches PostgreSQL."""

from __future__ import annotations

from pydantic import SecretStr
from pydantic_settings import BaseSettings


class DatabaseSettings(BaseSettings):
    """Read from the environment by web, scheduler and release; never by a worker."""

    #: libpq connection string or URL
    database_url: SecretStr
    #: connections a process may hold open at once
    database_pool_size: int = 20
    #: how long a thread waits for a free connection of the pool
    database_pool_wait_seconds: float = 5.0
    #: the longest that one statement may take
    database_statement_timeout_seconds: int = 30
    #: the longest that a statement waits for a lock
    database_lock_timeout_seconds: int = 5
    #: after this an idle transaction is ended by the server
    database_idle_in_transaction_timeout_seconds: int = 30
