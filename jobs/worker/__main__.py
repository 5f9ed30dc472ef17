"""`python -m jobs.worker`: one worker process."""

import sys

from jobs.worker.boot import main

if __name__ == "__main__":
    sys.exit(main())
