"""A Flask application with limits. Start it with `flask --app app run`, and ask for /search more than three times."""

import os
from typing import Any

from flask import Flask, request
from quotalock.flask import Limiter

# raise, open, closed or local: what happens when Redis is away.
ON_ERROR: Any = os.environ.get("ON_ERROR", "closed")
app = Flask(__name__)
limiter = Limiter(app=app, default_limits=["1000 per day", "100 per minute"], on_error=ON_ERROR)


@app.get("/")
def index() -> str:
    return "hello\n"


@app.get("/search")
@limiter.limit("3/2 seconds")
def search() -> str:
    return "found\n"


@app.post("/login")
@limiter.limit("20/minute")
@limiter.limit("5/minute", key_func=lambda: request.get_json(force=True)["user"])
def login() -> str:
    """Limited by address and by user. A body without a user is a 400."""
    return "welcome\n"


@app.get("/health")
@limiter.exempt
def health() -> str:
    return "well\n"
