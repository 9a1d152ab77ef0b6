"""What the shop answered, counted from nginx's access log: the server's own word, not the load generator's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass
class Count:
    """Answers by kind; `other` is anything but 200 and 429, and has no place in a good run."""

    admitted: int = 0
    denied: int = 0
    other: int = 0

    @property
    def requests(self) -> int:
        """All answers together."""
        return self.admitted + self.denied + self.other


class AccessLog:
    """Reads lines `seconds status client` as nginx appends them and sorts them into seconds since `start`."""

    def __init__(self, path: Path, start: float) -> None:
        self.seconds: list[Count] = []
        self.admissions: list[float] = []
        self._file = path.open("rb")
        self._file.seek(0, 2)
        self._start = start
        self._rest = b""

    def read(self) -> None:
        """Takes in what came since the last call, up to the last complete line."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            stamp, status, _ = line.split(b" ", 2)
            self._count(float(stamp) - self._start, status)

    def second(self, index: int) -> Count:
        """Returns what was answered in one second, counted from 0."""
        return self.seconds[index] if index < len(self.seconds) else Count()

    def close(self) -> None:
        """Closes the file; what was read stays."""
        self._file.close()

    def _count(self, time: float, status: bytes) -> None:
        index = max(0, int(time))
        while len(self.seconds) <= index:
            self.seconds.append(Count())
        if status == b"200":
            self.seconds[index].admitted += 1
            self.admissions.append(time)
        elif status == b"429":
            self.seconds[index].denied += 1
        else:
            self.seconds[index].other += 1
