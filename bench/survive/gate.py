"""A proxy that stops between two commands: it keeps one reply back, and tells."""

from __future__ import annotations

import threading

from proxy import Proxy, _Pair, _read


class Gate(Proxy):
    """Passes everything, until `hold` says which reply from now on it keeps back: `held` is set once it has it."""

    def __init__(self, upstream: int) -> None:
        self.held = threading.Event()
        self._open = threading.Event()
        self._left = 0
        super().__init__(upstream)

    def __enter__(self) -> Gate:
        return self

    def hold(self, reply: int) -> None:
        """Keeps the reply of this number back, the next one is 1."""
        self.held.clear()
        self._open.clear()
        self._left = reply

    def open(self) -> None:
        """Lets it pass."""
        self._open.set()

    def close(self) -> None:
        self.open()
        super().close()

    def _down(self, pair: _Pair) -> None:
        while chunk := _read(pair.server):
            self._left -= 1
            if self._left == 0:
                self.held.set()
                self._open.wait()
            try:
                pair.client.sendall(chunk)
            except OSError:
                break
        pair.shut()
