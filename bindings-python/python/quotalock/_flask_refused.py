"""What a Flask application raises for a request that it refuses."""

from __future__ import annotations

from typing import Any

from flask import current_app
from werkzeug.exceptions import BadRequest, HTTPException, ServiceUnavailable, TooManyRequests

from ._web import PROBLEM_TYPE, Answer
from ._whom import BadKey


class Refused(HTTPException):
    """A request was refused; `answer` has the decision, the header fields and the problem body."""

    def __init__(self, answer: Answer, message: str | None = None) -> None:
        super().__init__(message or answer.problem["detail"])
        self.answer = answer

    def get_body(self, environ: Any = None, scope: Any = None) -> str:  # noqa: ANN401
        """The problem, with the limit's `error_message` as its detail if there is one."""
        return current_app.json.dumps({**self.answer.problem, "detail": self.description})

    def get_headers(self, environ: Any = None, scope: Any = None) -> list[tuple[str, str]]:  # noqa: ANN401
        """The type of the body; the other fields are added to every answer."""
        return [("Content-Type", PROBLEM_TYPE)]


class RateLimitExceeded(Refused, TooManyRequests):
    """A request was over a limit: an `errorhandler(429)` gets this. Its description is the limit's `error_message`."""


class TemporarilyReduced(Refused, ServiceUnavailable):
    """Redis could not be asked, and `on_error` is `closed`: an `errorhandler(503)` gets this."""


class NoKey(BadRequest):
    """A request sent nothing from which a key can be made: an `errorhandler(400)` gets this."""

    def __init__(self, bad: BadKey) -> None:
        super().__init__(bad.problem["detail"])
        self.bad = bad

    def get_body(self, environ: Any = None, scope: Any = None) -> str:  # noqa: ANN401
        """The problem."""
        return current_app.json.dumps(self.bad.problem)

    def get_headers(self, environ: Any = None, scope: Any = None) -> list[tuple[str, str]]:  # noqa: ANN401
        """The type of the body."""
        return [("Content-Type", PROBLEM_TYPE)]
