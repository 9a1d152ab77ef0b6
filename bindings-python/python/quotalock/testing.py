"""For your own tests: set the time of a client, and read or plant raw values under a key.

    client = quotalock.Client("memory://name-of-the-test")
    testing.set_time(client, 1_700_000_000_000_000)

The time is that client's: other clients of the same memory, or of the same server, decide in real time.
`quotalock.aio.testing` has the same for the clients of `quotalock.aio`.
"""

from ._native import get, put, set_time

__all__ = ["get", "put", "set_time"]
