"""What a benchmark changes in its process is as before when it ends."""

from __future__ import annotations

import logging

import structlog
from structlog.testing import capture_logs

from benchmarks.installation import logging_to_nowhere


def test_logging_to_nowhere_leaves_the_log_as_it_was() -> None:
    root = logging.getLogger()
    before = (root.level, root.handlers[:], structlog.get_config())

    with logging_to_nowhere():
        structlog.get_logger().info("measured")

    assert (root.level, root.handlers[:], structlog.get_config()) == before
    with capture_logs() as lines:
        structlog.get_logger().info("told")
    assert [line["event"] for line in lines] == ["told"]
