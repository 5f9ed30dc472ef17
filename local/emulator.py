"""S3, SQS and Cognito on loopback: ministack as a process of its own, with persistence.

Objects are on disk at once. Queues and users are written at a clean stop and go back to the last
one after a crash, so provisioning is repeated at each start (see local.provision).
"""

import os
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

from local.errors import ServerFailed
from local.files import read_int, write_private
from local.processes import Child, free_port, spawn, wait_until

_START_SECONDS = 40.0
_STOP_SECONDS = 10.0
_SERVICES = "s3,sqs,cognito-idp"
#: Whose presigned URLs it takes, with the secret of the instance.
ACCESS_KEY_ID = "torikomi"


class Emulator:
    """One emulator on one data directory; it keeps its port from start to start if it can."""

    def __init__(self, data_dir: Path, port: int | None = None, *, region: str) -> None:
        self.data_dir = data_dir
        self.region = region
        self.port = port or 0
        self.secret_access_key = "torikomi"  # noqa: S105 - replaced by what is provisioned
        self.child: Child | None = None
        self._fixed_port = port

    @property
    def endpoint_url(self) -> str:
        """The address for AWS_ENDPOINT_URL; known after start()."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """The emulator's own log file."""
        return self.data_dir / "logs" / "aws.log"

    def start(self) -> None:
        """Start and wait for an answer."""
        self.stop()  # and reap one that was killed
        for _ in range(3):
            if self._try_start():
                return
        raise ServerFailed(
            f"The S3/SQS/Cognito emulator did not start; the reason is at the end of {self.log}."
        )

    def stop(self, grace_seconds: float = _STOP_SECONDS) -> bool:
        """Stop cleanly: it writes queues and users to disk first.

        Says whether it stopped by itself within the time.
        """
        child, self.child = self.child, None
        return child is None or child.stop(signal.SIGTERM, grace_seconds)

    def restart(self) -> None:
        """Stop cleanly and start again, so that what was just made survives a crash."""
        self.stop()
        self.start()

    def _try_start(self) -> bool:
        port_file = self.data_dir / "aws.port"
        self.port = self._fixed_port or free_port(read_int(port_file))
        child = spawn(
            [sys.executable, "-m", "ministack"],
            env=self._env(),
            cwd=self.data_dir,
            log=self.log,
        )
        wait_until(lambda: not child.alive() or self._answers(), _START_SECONDS)
        if child.alive() and self._answers():
            write_private(port_file, str(self.port))
            self.child = child
            return True
        child.stop(signal.SIGTERM, _STOP_SECONDS)
        return False

    def _answers(self) -> bool:
        request = urllib.request.Request(f"{self.endpoint_url}/_ministack/health")  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _env(self) -> dict[str, str]:
        state = self.data_dir / "aws"
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state / "tmp").mkdir(exist_ok=True)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(state),
            "TMPDIR": str(state / "tmp"),
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "MINISTACK_REGION": self.region,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "SERVICES": _SERVICES,
            # Its MQTT listener would open 0.0.0.0:8883 whatever BIND_HOST says.
            "IOT_MTLS_ENABLED": "0",
            "COGNITO_EMAIL_ENABLED": "false",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(state / "state"),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(state / "s3"),
            "LOG_LEVEL": "WARNING",
        }
