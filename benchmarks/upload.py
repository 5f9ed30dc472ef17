"""Upload through the web process against plain `upload_fileobj` to the same object store.

Both send the same bytes from this process and take turns. Ours also answers for the row in
PostgreSQL. 500 MB show that time and memory of the web process stay in proportion.
"""

from __future__ import annotations

import http.client
import io
import json
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.installation import children_of, forget_peak, memory_bytes, scratch, stack
from benchmarks.measure import Bar, Options, Row, alternate
from local.provision import access_token, client
from local.stack import Stack

SMALL_BYTES = 10_000_000
LARGE_BYTES = 500_000_000
PARALLEL = 4
_MIB = 1 << 20
_BOUNDARY = "torikomi-benchmark-boundary"


def run(options: Options) -> list[Row]:
    """Measure both sizes; the large one three times, since the emulator needs seconds for it."""
    given = {"MAX_UPLOAD_BYTES": str(1 << 30)}
    with scratch() as directory, stack(("web",), given) as product:
        sender = Sender(product)
        small, large = directory / "small", directory / "large"
        small.write_bytes(bytes(range(250)) * (SMALL_BYTES // 250))
        with large.open("wb") as file:
            for _ in range(LARGE_BYTES // SMALL_BYTES):
                file.write(small.read_bytes())
        sender.warm(small)
        rows = sender.compare(small, "10 MB", options.rounds, [Bar(of="limit", at_most=1.25)])
        rows += sender.compare(large, "500 MB", 1 if options.quick else 3, [])
        return [*rows, *sender.memory(small, large, options.rounds)]


class Sender:
    """Sends files in the three ways."""

    def __init__(self, product: Stack) -> None:
        self._token = access_token(product.account, product.provisioned)
        self._port = product.port
        self._s3 = client("s3", product.account)
        self._bucket = product.account.bucket
        self._product = product

    def warm(self, path: Path) -> None:
        """Let every connection and import be there before the first run that counts."""
        for send in (self.raw, self.multipart, self.plain):
            for _ in range(2):
                send(path)

    def compare(self, path: Path, called: str, rounds: int, bars: list[Bar]) -> list[Row]:
        """Measure one file in the three ways."""
        contenders: dict[str, Callable[[], float]] = {
            "raw": lambda: self.raw(path),
            "multipart": lambda: self.multipart(path),
            "plain": lambda: self.plain(path),
        }
        found = alternate(contenders, rounds)
        return [
            Row(
                what=f"{called}, {kind} body",
                unit="s",
                ours=found[kind],
                limit=found["plain"],
                limit_name="upload_fileobj",
                bars=bars,
            )
            for kind in ("raw", "multipart")
        ]

    def memory(self, small: Path, large: Path, rounds: int) -> list[Row]:
        """Measure by how much uploads let a fresh web process grow, alone and four at once."""
        bar = [Bar(of="value", at_most=24)]
        one = [self.growth(lambda: self.raw(large))]
        many = [self.growth(lambda: self._at_once(small)) / PARALLEL for _ in range(rounds)]
        return [
            Row(what="growth of a fresh web process at 500 MB", unit="MiB", ours=one, bars=bar),
            Row(
                what=f"growth an upload, {PARALLEL} of 10 MB at once in a fresh web process",
                unit="MiB",
                ours=many,
                bars=bar,
            ),
        ]

    def growth(self, work: Callable[[], Any]) -> float:
        """Return by how many MiB the resident memory rose at most above that after one line."""
        self._product.restart("web")
        self._wait_for_web()
        self._post(io.BytesIO(b"one line"), 8, "text/plain")
        workers = children_of(self._product.pid("web") or 0)
        before = sum(memory_bytes(worker) for worker in workers)
        for worker in workers:
            forget_peak(worker)
        work()
        return (sum(memory_bytes(each, "VmHWM") for each in workers) - before) / _MIB

    def _wait_for_web(self) -> None:
        while True:
            with suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.1)

    def raw(self, path: Path) -> float:
        """Send the file as the body itself; return the seconds to the answer."""
        with path.open("rb") as body:
            return self._post(body, path.stat().st_size, "text/plain")

    def multipart(self, path: Path) -> float:
        """Send the file as the part of a form."""
        head = (
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
            "Content-Type: text/plain\r\n\r\n"
        ).encode()
        tail = f"\r\n--{_BOUNDARY}--\r\n".encode()
        size = len(head) + path.stat().st_size + len(tail)
        with path.open("rb") as file:
            body = _Joined([io.BytesIO(head), file, io.BytesIO(tail)])
            return self._post(body, size, f"multipart/form-data; boundary={_BOUNDARY}")

    def plain(self, path: Path) -> float:
        """Send the file straight to the object store, as boto3 does it."""
        with path.open("rb") as body:
            begun = time.perf_counter()
            self._s3.upload_fileobj(body, self._bucket, "benchmark/plain")
            took = time.perf_counter() - begun
        self._forget("benchmark/plain")
        return took

    def _post(self, body: Any, size: int, content_type: str) -> float:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, blocksize=1 << 18)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": content_type,
            "Content-Length": str(size),
        }
        begun = time.perf_counter()
        connection.request("POST", "/api/v1/imports?filename=a.txt", body=body, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        took = time.perf_counter() - begun
        connection.close()
        if answer.status != 202:
            raise SystemExit(f"{answer.status} {content[:300]!r}")
        self._forget(f"imports/{json.loads(content)['import_id']}/source")
        return took

    def _forget(self, key: str) -> None:
        """Delete every version, or the emulator's disk would fill."""
        found = self._s3.list_object_versions(Bucket=self._bucket, Prefix=key)
        for version in found.get("Versions", []):
            self._s3.delete_object(Bucket=self._bucket, Key=key, VersionId=version["VersionId"])

    def _at_once(self, path: Path) -> float:
        took: list[float] = []
        threads = [
            threading.Thread(target=lambda: took.append(self.raw(path))) for _ in range(PARALLEL)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return statistics.median(took)


class _Joined:
    """Several files read as one."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of the first part that has some."""
        while self._parts:
            chunk: bytes = self._parts[0].read(size)
            if chunk:
                return chunk
            self._parts.pop(0)
        return b""
