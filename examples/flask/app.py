"""A Flask application with limits. Start it with `flask --app app run`, and ask for /search more than three times."""

import os

from flask import Flask
from quotalock.flask import Limiter

app = Flask(__name__)
limiter = Limiter(
    app=app, default_limits=["1000 per day", "100 per minute"], on_error=os.environ.get("ON_ERROR", "closed")
)


@app.get("/")
def index() -> str:
    return "hello\n"


@app.get("/search")
@limiter.limit("3/2 seconds")
def search() -> str:
    return "found\n"


@app.get("/health")
@limiter.exempt
def health() -> str:
    return "well\n"
