"""The first example of each page runs as it stands, but for its server, and answers as the page says."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
import quotalock
from asgi import ask, hang_up
from conftest import ROOT
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.utils.module_loading import import_string
from quotalock.testing import Clock
from servers import Server

PAGES = ROOT / "docs/frameworks"
_numbers = itertools.count()


def page(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What the first example of a page makes, and the fields that the page shows after it."""
    text = (PAGES / f"{name}.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:1]
    memory = f"memory://page-{next(_numbers)}"
    code = code.replace("redis://127.0.0.1:6379", memory).replace("quotalock://127.0.0.1:6379", f"quotalock+{memory}")
    made: dict[str, Any] = {"__name__": "shop.views" if name == "django" else "__main__", "application": ok}
    exec(compile(code, f"{name}.md", "exec"), made)
    fields = re.findall(r"^(RateLimit[\w-]*): (.+)$", text, re.MULTILINE | re.IGNORECASE)
    return made, {field.lower(): masked(value) for field, value in fields}


def masked(value: str) -> str:
    """A field without the digests of generated names: they depend on the module in which an application is made."""
    return re.sub(r":[0-9a-f]{20}", ":digest", value)


def ok(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """An application."""
    start_response("200 OK", [])
    return [b""]


def test_flask() -> None:
    made, shown = page("flask")
    Clock(made["limiter"].client)
    client = made["app"].test_client()
    answers = [client.get("/search") for _ in range(4)]
    assert {name: masked(answers[0].headers[name]) for name in shown} == shown
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[3].headers["retry-after"] == "2"


def test_fastapi() -> None:
    made, shown = page("fastapi")
    Clock(made["app"].state.quotalock.client)
    first, fourth = ask(made["app"], "/search"), ask(made["app"], *["/search"] * 3)
    assert {name: masked(first.headers[name]) for name in shown} == shown
    assert (first.status, fourth.status, fourth.headers["retry-after"]) == (200, 429, "2")


def test_wsgi() -> None:
    made, shown = page("wsgi")
    answers: list[tuple[str, dict[str, str]]] = []
    for _ in range(101):
        made["application"]({"REMOTE_ADDR": "192.0.2.1"}, lambda status, fields: answers.append((status, dict(fields))))
    assert {name.lower(): masked(value) for name, value in answers[0][1].items()} == shown
    assert answers[-1][0] == "429 Too Many Requests"


def test_django() -> None:
    made, shown = page("django")
    request = RequestFactory().get("/")
    request.user = SimpleNamespace(is_authenticated=False)
    with override_settings(QUOTALOCK=made["QUOTALOCK"], MIDDLEWARE=made["MIDDLEWARE"][:1]):
        # The page leaves out what the view does.
        assert [made["login"](request) for _ in range(5)] == [None] * 5
        refused = made["login"](request)
        middleware = import_string(made["MIDDLEWARE"][0])(lambda request: HttpResponse("found"))
        assert masked(middleware(request).headers["RateLimit-Policy"]) == '"~all:*:ip:digest";q=600;w=60'
    assert (refused.status_code, refused.headers["Content-Type"]) == (429, "application/problem+json")
    assert masked(refused.headers["RateLimit-Policy"]) == shown["ratelimit-policy"]
    assert masked(refused.headers["RateLimit"]).startswith(shown["ratelimit"].partition(";")[0])


def test_limits() -> None:
    made, _ = page("limits")
    made["app"].add_url_rule("/", view_func=made["limiter"].limit("2/minute")(lambda: "found"))
    client = made["app"].test_client()
    assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]


def test_celery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUOTALOCK_URL", "memory://")
    made, _ = page("celery")
    assert made["send"].apply(("shop", 1)).get() is None
    assert made["reindex"].apply(("shop",)).get() is None


def test_the_recipe_for_a_switch_from_flask_limiter(redis: Server) -> None:
    text = (ROOT / "docs/recipes/replace-a-limiter.md").read_text()
    (code,) = (block for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if "flask_limiter" in block)
    code = code.replace("redis://127.0.0.1:6379", redis.url)
    step1: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "step 1", "exec"), step1)
    assert [step1["app"].test_client().get("/search").status_code for _ in range(6)] == [200] * 5 + [429]
    # Both counted, so no limit begins from zero with step 2: the one that leaves the old one out denies at once.
    step2: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(re.sub(r".*step 2: without this line\n", "", code), "step 2", "exec"), step2)
    denied = step2["app"].test_client().get("/search")
    assert (denied.status_code, denied.mimetype) == (429, "application/problem+json")


@pytest.mark.parametrize(("hangs_up", "words", "charged"), [(False, b"Very well, thank you. ", 7), (True, b"Very ", 4)])
def test_the_recipe_for_a_token_budget(
    redis: Server, hangs_up: bool, words: bytes, charged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUOTALOCK_URL", redis.url)
    text = (ROOT / "docs/recipes/llm-token-budget.md").read_text()
    (code,) = (block for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if "fastapi" in block)
    made: dict[str, Any] = {"stream_model": endless_model if hangs_up else model}
    exec(compile(code.replace("Client()", "Client(timeout=10.0)"), "recipe", "exec"), made)
    asked = hang_up if hangs_up else ask
    answer = asked(made["app"], "/answer?prompt=How+are+you?", x_api_key="key-1")
    assert (answer.status, answer.body) == (200, words)
    with quotalock.Client(redis.url, timeout=10.0) as client:
        tokens = client.limiter("llm-tokens", "10000/hour")
        assert 10_000 - tokens.peek("key-1").remaining == charged
        tokens.require("key-2", 9_000)
    denied = ask(made["app"], "/answer?prompt=How+are+you?", x_api_key="key-2")
    assert (denied.status, denied.headers["content-type"]) == (429, "application/problem+json")
    assert int(denied.headers["retry-after"]) > 0
    assert json.loads(denied.body)["status"] == 429


async def model(prompt: str) -> AsyncIterator[str]:
    for word in ["Very", "well,", "thank", "you."]:
        yield word


async def endless_model(prompt: str) -> AsyncIterator[str]:
    yield "Very"
    await asyncio.Event().wait()
