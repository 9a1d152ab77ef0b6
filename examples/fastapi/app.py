"""A FastAPI application with limits. Start it with `uvicorn app:app`, and ask for /search more than three times."""

import os
from typing import Any

from fastapi import Depends, FastAPI, Request
from quotalock import aio
from quotalock.fastapi import Limit, Limits, install

# raise, open, closed or local: what happens when Redis is away.
ON_ERROR: Any = os.environ.get("ON_ERROR", "closed")
app = FastAPI()
install(app, aio.Client(on_error=ON_ERROR))


@app.get("/", dependencies=[Depends(Limit("100/minute;1000/day"))])
async def index() -> str:
    return "hello"


@app.get("/search", dependencies=[Depends(Limit("3/2 seconds"))])
async def search() -> str:
    return "found"


async def user(request: Request) -> str:
    """Whom a login is for. A body without a user is a 400."""
    name: str = (await request.json())["user"]
    return name


@app.post("/login", dependencies=[Depends(Limits(Limit("20/minute"), Limit("5/minute", key=user)))])
async def login() -> str:
    return "welcome"


@app.get("/health")
async def health() -> str:
    return "well"
