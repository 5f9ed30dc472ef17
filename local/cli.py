"""The commands that run.py starts inside its venv: `run`, `test`, `token` and `operate`."""

import os
import signal
import sys
import time
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import TextIO

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError

from local.checks import run_checks
from local.claim import is_running, read_run
from local.errors import LocalError
from local.greeting import greeting
from local.keys import load_keys
from local.operate import operate
from local.plan import read_port
from local.provision import sign_in
from local.sample import import_sample
from local.stack import Stack, Stopped
from local.tasks import ROOT


def main(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may know no Japanese
    try:
        if arguments[0] == "test":
            return run_checks(arguments[1:])
        if arguments[0] == "operate":
            operate(data_dir(), arguments[1:])
        return {"run": run, "token": token}[arguments[0]]()
    except Stopped:
        return 0
    except LocalError as error:
        _say(str(error), sys.stderr)
        return 1
    except (BotoCoreError, ClientError, psycopg2.Error) as error:
        _say(
            f"PostgreSQL, S3, SQS or Cognito did not do what was asked ({_line(error)}): "
            f"check what you have set, and the logs in {data_dir() / 'logs'}.",
            sys.stderr,
        )
        return 1
    except OSError as error:
        _say(
            f"Torikomi cannot use {error.filename or data_dir()} ({error.strerror}): "
            "free some space or set TORIKOMI_DATA to a directory you may write.",
            sys.stderr,
        )
        return 1


def data_dir() -> Path:
    """Return the data directory: TORIKOMI_DATA, or var beside run.py."""
    given = os.environ.get("TORIKOMI_DATA")
    return Path(given).expanduser().absolute() if given else ROOT / "var"


def run() -> int:
    """Start everything, greet, wait for Ctrl-C or SIGTERM, stop everything."""
    stack = Stack(data_dir(), read_port(os.environ.get("PORT")), given=os.environ)

    def ask(_number: int, _frame: FrameType | None) -> None:
        stack.ask_to_stop()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, ask)
    _say("Torikomi is starting. / 取込を起動しています。", sys.stdout)
    stack.start()
    try:
        import_sample(stack)
        for line in greeting(stack):
            _say(line, sys.stdout)
        while not stack.stop_asked:
            time.sleep(0.1)
        _say("Stopping. / 停止しています。", sys.stdout)
    finally:
        stack.stop()
    return 0


def token() -> int:
    """Print an access token of the running stack's first user, and nothing else."""
    where = data_dir()
    facts = read_run(where) if is_running(where) else {}
    if not facts:
        raise LocalError(
            f"Torikomi does not run on {where}: start it with `python3 run.py` and ask again "
            "when it says that it is ready."
        )
    if "client_id" not in facts:
        raise LocalError("Users are not embedded here: sign in at the COGNITO_ISSUER given.")
    try:
        answer = sign_in(
            facts["cognito_url"],
            facts["region"],
            facts["client_id"],
            facts["username"],
            load_keys(where).password,
        )
    except (BotoCoreError, ClientError) as error:
        raise LocalError(f"The embedded Cognito gave no token ({error}): try again.") from error
    _say(answer, sys.stdout)
    return 0


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _say(line: str, stream: TextIO) -> None:
    stream.write(f"{line}\n")
    stream.flush()
