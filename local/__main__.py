"""`python -m local run`, `test`, `token` and `operate`."""

import signal
import sys

# A Ctrl-C while the libraries load simply ends us; there is nothing to stop yet.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from local.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
