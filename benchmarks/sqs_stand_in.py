"""A tiny HTTP stand-in for SQS with a fixed latency, for the benchmarks only.

It accepts every message and keeps none: what is measured is the sender.
`python -m benchmarks.sqs_stand_in PORT LATENCY_MILLISECONDS`
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from typing import Any


async def serve(port: int, latency_seconds: float) -> None:
    """Answer GetQueueUrl, SendMessage and SendMessageBatch until killed."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _read_head(reader):
            length = int(head.get("content-length", "0"))
            request = json.loads(await reader.readexactly(length))
            await asyncio.sleep(latency_seconds)
            body = json.dumps(_answer(head["x-amz-target"], request)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body) + body
            )
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", port, limit=2**21)
    async with server:
        await server.serve_forever()


async def _read_head(reader: asyncio.StreamReader) -> dict[str, str]:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return {}
    lines = raw.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.lower(): value.strip() for name, _, value in pairs}


def _answer(target: str, request: dict[str, Any]) -> dict[str, Any]:
    action = target.rpartition(".")[2]
    if action == "GetQueueUrl":
        return {"QueueUrl": f"http://127.0.0.1/000000000000/{request['QueueName']}"}
    if action == "SendMessageBatch":
        return {"Successful": [_sent(e["MessageBody"], e["Id"]) for e in request["Entries"]]}
    return _sent(request["MessageBody"], "")


def _sent(body: str, entry_id: str) -> dict[str, Any]:
    digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
    return {"Id": entry_id, "MessageId": digest, "MD5OfMessageBody": digest}


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
