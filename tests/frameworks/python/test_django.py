"""What the decorator, the middleware, the throttles and the cache backend for Django do, and what they refuse."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import quotalock
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from quotalock import drf
from quotalock.django import QuotalockCache, RateLimitMiddleware, is_ratelimited, ratelimit
from quotalock.django._settings import configuration
from quotalock.testing import Clock
from rest_framework.response import Response
from rest_framework.views import APIView

_numbers = itertools.count()
requests = RequestFactory()


def memory() -> str:
    return f"memory://django-{next(_numbers)}"


@pytest.fixture(autouse=True)
def project() -> Iterator[None]:
    with override_settings(QUOTALOCK={"URL": memory()}):
        yield


def statuses(view: Any, count: int, **options: Any) -> list[int]:
    return [view(requests.get("/", **options)).status_code for _ in range(count)]


def seen(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"limited: {getattr(request, 'limited', None)}")


def test_a_limited_view_answers_429() -> None:
    clock = Clock(configuration().client)
    view = ratelimit(key="ip", rate="2/m")(seen)
    first = view(requests.get("/"))
    assert re.fullmatch(r'"~test_django.seen:\*:ip:[0-9a-f]{20}";r=1;t=60', first.headers["RateLimit"])
    assert statuses(view, 2) == [200, 429]
    refused = view(requests.get("/"))
    assert (refused.headers["Retry-After"], refused.headers["Content-Type"]) == ("60", "application/problem+json")
    clock.advance(60)
    assert statuses(view, 1) == [200]


def test_a_view_that_is_not_blocked_is_told() -> None:
    view = ratelimit(key="ip", rate="1/m", block=False)(seen)
    assert [view(requests.get("/")).content for _ in range(2)] == [b"limited: False", b"limited: True"]


def test_stacked_limits_charge_all_or_none() -> None:
    @ratelimit(key="get:user", rate="1/m")
    @ratelimit(key=lambda group, request: "all", rate="3/h", group="all")
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("seen")

    assert statuses(view, 3, data={"user": "ada"}) == [200, 429, 429]
    assert statuses(view, 1, data={"user": "bob"}) + statuses(view, 1, data={"user": "eve"}) == [200, 200]
    assert statuses(view, 1, data={"user": "dan"}) == [429]
    with pytest.raises(SuspiciousOperation, match="the request's get 'user' returned None"):
        view(requests.get("/"))


def test_an_asynchronous_view_is_limited_on_its_loop() -> None:
    @ratelimit(key="ip", rate="2/m")
    async def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("seen")

    async def asked() -> list[int]:
        return [(await view(requests.get("/"))).status_code for _ in range(3)]

    assert asyncio.run(asked()) == [200, 200, 429]


@pytest.mark.parametrize("nothing", [None, "", True])
def test_a_key_function_that_returns_nothing_is_a_400(nothing: Any) -> None:
    # Which is what Django answers.
    with pytest.raises(SuspiciousOperation, match=r"test_django.*as the key"):
        ratelimit(key=lambda group, request: nothing, rate="1/m")(seen)(requests.get("/"))


def test_is_ratelimited_looks_or_charges() -> None:
    def asked(increment: bool) -> bool:
        return is_ratelimited(requests.get("/"), group="a", key="ip", rate="1/m", increment=increment)

    assert [asked(False), asked(False), asked(True), asked(False), asked(True)] == [False, False, False, True, True]


def test_the_middleware_limits_every_request_of_both_kinds() -> None:
    with override_settings(QUOTALOCK={"URL": memory(), "POLICY": "2/minute", "LEGACY_HEADERS": True}):
        limited = RateLimitMiddleware(seen)
        assert limited(requests.get("/")).headers["X-RateLimit-Remaining"] == "1"
        assert statuses(limited, 2) == [200, 429]

        async def view(request: HttpRequest) -> HttpResponse:
            return HttpResponse("seen")

        on_loop = RateLimitMiddleware(view)

        async def asked() -> list[int]:
            return [(await on_loop(requests.get("/", REMOTE_ADDR="192.0.2.9"))).status_code for _ in range(3)]

        assert asyncio.run(asked()) == [200, 200, 429]


def test_a_view_of_ones_own_answers_what_is_refused() -> None:
    def mine(request: HttpRequest, answer: Any) -> HttpResponse:
        return HttpResponse("slowly", status=answer.status)

    with override_settings(QUOTALOCK={"URL": memory(), "POLICY": "1/minute", "VIEW": mine}):
        limited = RateLimitMiddleware(seen)
        limited(requests.get("/"))
        refused = limited(requests.get("/"))
        assert (refused.content, refused.headers["Retry-After"]) == (b"slowly", "60")


TOLD: list[tuple[bool, object]] = []


def tell(decision: quotalock.Decision, key: object) -> None:
    TOLD.append((decision.allowed, key))


def test_hooks_are_told_of_limits() -> None:
    for hook in (tell, f"{__name__}.tell"):
        with override_settings(QUOTALOCK={"URL": memory(), "POLICY": "1/minute", "ON_DECISION": hook}):
            assert statuses(RateLimitMiddleware(seen), 2) == [200, 429]
        assert [allowed for allowed, _ in TOLD] == [True, False]
        TOLD.clear()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"POLICY": "1/s", "ON_DECISION": "nowhere.tell"}, "nowhere"),
        ({"POLICY": "1/s", "ON_LOST": 5}, "on_lost 5 is an int: give a function"),
        ({"POLICY": "many"}, "POLICY"),
        ({"POLICIES": "1/s"}, "POLICIES"),
        ({"ON_ERROR": "shut"}, "on_error"),
        ({"POLICY": "1/s", "KEY": "usr"}, "'usr' is no key"),
        ({"TRUSTED_PROXIES": ["0.0.0.0/0"]}, "settings.QUOTALOCK"),
    ],
)
def test_a_setting_that_cannot_be_is_told_of_at_the_start(given: dict[str, Any], told: str) -> None:
    with override_settings(QUOTALOCK=given), pytest.raises(ImproperlyConfigured, match=told):
        RateLimitMiddleware(seen)


def test_a_rate_that_cannot_be_is_told_of_where_it_stands() -> None:
    with pytest.raises(quotalock.InvalidPolicy, match=r"the rate of test_django\.seen"):
        ratelimit(key="ip", rate="many")(seen)
    with pytest.raises(quotalock.InvalidArgument, match=r"the rate of test_django\.seen: a limit is a text"):
        ratelimit(key="ip", rate=(1,))(seen)  # type: ignore[arg-type]
    for key in ("usr", "get:", "cookie:user", 5):
        with pytest.raises(ImproperlyConfigured, match=r"the limit of test_django\.seen: .* is no key: there are ip"):
            ratelimit(key=key, rate="1/m")(seen)
    with pytest.raises(ImproperlyConfigured, match="needs a key"):
        ratelimit(rate="1/m")(seen)(requests.get("/"))


def test_throttles_charge_all_or_none() -> None:
    class PerUser(drf.SimpleRateThrottle):
        scope = "user"
        rate = "1/minute"

        def get_cache_key(self, request: Any, view: Any) -> Any:
            return request.query_params["user"]

    class Everybody(PerUser):
        scope = "all"
        rate = "3/hour;100/day"

        def get_cache_key(self, request: Any, view: Any) -> Any:
            return "all"

    class View(APIView):
        authentication_classes = ()
        permission_classes = ()
        throttle_classes = (PerUser, Everybody)

        def get(self, request: Any) -> Response:
            return Response({})

    view = RateLimitMiddleware(View.as_view())

    def asked(user: str) -> Any:
        response = view(requests.get("/", {"user": user}))
        return response.status_code

    assert [asked(user) for user in ("ada", "ada", "ada", "bob", "eve", "dan")] == [200, 429, 429, 200, 200, 429]
    last = view(requests.get("/", {"user": "kim"}))
    assert int(last.headers["Retry-After"]) > 3000
    assert re.search(r'"~user:\*:PerUser:[0-9a-f]{20}";q=1;w=60', last.headers["RateLimit-Policy"])


def cache(**params: Any) -> QuotalockCache:
    return QuotalockCache(memory(), params)


def test_the_cache_keeps_what_it_is_given_and_forgets_it_in_time() -> None:
    kept = cache()
    clock = Clock(kept._client)
    assert kept.get("a", "nothing") == "nothing"
    kept.set("a", {"of": [1, None]}, 60)
    assert kept.get("a") == {"of": [1, None]}
    assert kept.get_many(["a", "b"]) == {"a": {"of": [1, None]}}
    clock.advance(60)
    assert kept.get("a") is None
    kept.set("a", 1)
    clock.advance(299)
    assert kept.get("a") == 1
    assert (kept.delete("a"), kept.delete("a"), kept.get("a")) == (True, False, None)
    kept.set("a", 1, 0)
    assert "a" not in kept
    kept.set("a", 1, version=2)
    assert (kept.get("a"), kept.get("a", version=2)) == (None, 1)


def test_add_stores_once_whoever_adds() -> None:
    kept = cache()
    assert [kept.add("a", n) for n in range(3)] == [True, False, False]
    assert kept.get("a") == 0
    added: list[bool] = []
    threads = [threading.Thread(target=lambda n=n: added.append(kept.add("b", n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(added) == [False] * 7 + [True]


def test_get_or_set_loads_once_whoever_asks() -> None:
    kept = cache()
    loads: list[int] = []
    entered = threading.Event()

    def load() -> str:
        loads.append(1)
        entered.wait(0.2)
        return "loaded"

    values: list[Any] = []
    threads = [threading.Thread(target=lambda: values.append(kept.get_or_set("a", load, 60))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (values, len(loads)) == (["loaded"] * 8, 1)
    assert kept.get_or_set("b", None, 60) is None
    assert kept.get_or_set("c", 5, 60) == 5


def test_the_cache_refuses_what_it_does_not_promise() -> None:
    kept = cache()
    with pytest.raises(ValueError, match="forever"):
        kept.set("a", 1, None)
    with pytest.raises(ImproperlyConfigured, match="forever"):
        cache(TIMEOUT=None)
    with pytest.raises(ImproperlyConfigured, match="MAX"):
        cache(OPTIONS={"MAX": 1})
    for refused in (kept.clear, lambda: kept.incr("a"), lambda: kept.decr("a"), lambda: kept.touch("a", 60)):
        with pytest.raises(NotImplementedError):
            refused()
