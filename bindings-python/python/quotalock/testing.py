"""For your own tests: set the time of a client, and read or plant raw values under a key.

    client = quotalock.Client("memory://name-of-the-test")
    clock = testing.Clock(client)
    clock.advance(60)  # seconds
    denied = testing.decision("10/minute", used=10)  # for what you double

The time is that client's: other clients of the same memory, or of the same server, decide in real time. `set_time` sets
it to microseconds since the epoch. `quotalock.aio.testing` has the same for the clients of `quotalock.aio`. With pytest
there are the fixtures `quotalock_client` and `quotalock_clock`.
"""

from ._clock import Clock as Clock
from ._made import decision as decision
from ._native import get, put, set_time

__all__ = ["get", "put", "set_time"]
