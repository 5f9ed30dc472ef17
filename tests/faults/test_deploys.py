"""P8: five deploys in a row dead-letter nothing."""

import json

from tests.faults.product import until

#: The ordinary worker with parsers that obey the file: `sleep 60` sleeps.
OBEDIENT = (
    "exec env -u DATABASE_URL python -c"
    " 'import sys; from jobs.worker.boot import main; sys.exit(main(\"tests.jobs.hostile\"))'"
)
BEGUN = "SELECT count(*) AS n FROM job_event WHERE event IN ('started', 'restarted')"


def test_five_deploys_in_a_row_dead_letter_nothing_and_the_sixth_worker_completes(product):
    product.kill("worker")
    product.start("worker", command=OBEDIENT)
    answer = product.upload(b"sleep 60")
    for deploys in range(1, 6):
        until(lambda n=deploys: product.sql(BEGUN)[0]["n"] >= n, 30, "the work has begun")
        assert product.stop("worker"), "it did not end by itself"
        assert product.exit_code("worker") == 0
        assert product.queue_depth("page_import_dlq") == 0
        product.start("worker", command=OBEDIENT if deploys < 5 else "")
    product.drain()

    assert product.violations(accepted=[answer.json()["import_id"]], only_accepted=True) == []
    assert product.sql("SELECT status, run FROM page_import") == [{"status": "completed", "run": 1}]
    until(lambda: product.queue_depth("page_import") == 0, 20, "it is deleted")
    assert product.queue_depth("page_import_dlq") == 0


def test_the_queues_count_six_receives_and_move_the_message_in_the_seventh(product):
    url = product.sqs.get_queue_url(QueueName="torikomi_page_import")["QueueUrl"]
    answer = product.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])
    assert int(json.loads(answer["Attributes"]["RedrivePolicy"])["maxReceiveCount"]) == 6
