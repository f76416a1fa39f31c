"""Ctrl-C for processes that tests start."""

import signal


def let_children_be_interrupted() -> None:
    """Give processes started from here the default for SIGINT, also in a background job.

    A background job ignores SIGINT, and so would every process that it starts. With a handler
    of this process, even one that does nothing, they start with the default.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)
