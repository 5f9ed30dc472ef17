"""What can go wrong on the embedded default, each said in one sentence with its remedy."""


class LocalError(Exception):
    """The embedded default cannot go on; the text is shown to the person as it is."""


class ServerFailed(LocalError):
    """A server of the embedded default did not start or did not answer in time."""
