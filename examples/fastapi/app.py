"""A FastAPI application with limits. Start it with `uvicorn app:app`, and ask for /search more than three times."""

import os
from typing import Any

from fastapi import Depends, FastAPI
from quotalock import aio
from quotalock.fastapi import Limit, install

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


@app.get("/health")
async def health() -> str:
    return "well"
