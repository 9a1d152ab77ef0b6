"""What the extension for Flask decides, whom it counts for, and what it refuses at the start."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import quotalock
from flask import Blueprint, Flask, request
from quotalock import aio
from quotalock.flask import Limiter, get_remote_address
from quotalock.testing import Clock

_numbers = itertools.count()


def made(**options: Any) -> tuple[Flask, Limiter, Clock]:
    app = Flask(__name__)
    client = quotalock.Client(f"memory://flask-{next(_numbers)}")
    return app, Limiter(app=app, client=client, **options), Clock(client)


def statuses(app: Flask, path: str, count: int, **options: Any) -> list[int]:
    with app.test_client() as client:
        return [client.get(path, **options).status_code for _ in range(count)]


def test_default_limits_hold_for_each_route_by_itself() -> None:
    app, limiter, clock = made(default_limits=["2/minute", "3 per hour"])
    app.add_url_rule("/a", "a", lambda: "a")
    app.add_url_rule("/b", "b", lambda: "b")
    app.add_url_rule("/free", "free", limiter.exempt(lambda: "free"))
    assert statuses(app, "/a", 3) == [200, 200, 429]
    assert statuses(app, "/b", 3) == [200, 200, 429]
    assert statuses(app, "/free", 5) == [200] * 5
    clock.advance(60)
    assert statuses(app, "/a", 2) == [200, 429]


def test_application_limits_hold_for_all_routes_together() -> None:
    app, _, _ = made(application_limits=["3/minute"])
    app.add_url_rule("/a", "a", lambda: "a")
    app.add_url_rule("/b", "b", lambda: "b")
    assert statuses(app, "/a", 2) + statuses(app, "/b", 2) == [200, 200, 200, 429]


def test_a_limit_takes_the_place_of_the_defaults_unless_it_says_otherwise() -> None:
    app, limiter, _ = made(default_limits=["1/minute"])
    app.add_url_rule("/own", "own", limiter.limit("3/minute")(lambda: "own"))
    both = limiter.limit("3/minute", override_defaults=False)(lambda: "both")
    app.add_url_rule("/both", "both", both)
    assert statuses(app, "/own", 4) == [200, 200, 200, 429]
    assert statuses(app, "/both", 2) == [200, 429]


def test_a_refused_request_is_charged_to_none_of_its_limits() -> None:
    app, limiter, _ = made()

    @app.get("/")
    @limiter.limit("1/minute", key_func=lambda: request.args["user"])
    @limiter.limit("3/hour", key_func=lambda: "all", scope="all")
    def view() -> str:
        return "seen"

    assert statuses(app, "/?user=ada", 3) == [200, 429, 429]
    # The two refusals left the common limit two more.
    assert statuses(app, "/?user=bob", 1) + statuses(app, "/?user=eve", 1) + statuses(app, "/?user=dan", 1) == [
        200,
        200,
        429,
    ]


def test_a_shared_limit_counts_all_that_share_it() -> None:
    app, limiter, _ = made()
    shared = limiter.shared_limit("2/minute", scope="search")
    app.add_url_rule("/a", "a", shared(lambda: "a"))
    app.add_url_rule("/b", "b", shared(lambda: "b"))
    assert statuses(app, "/a", 1) + statuses(app, "/b", 2) == [200, 200, 429]


def test_methods_costs_conditions_and_policies_of_a_request() -> None:
    app, limiter, _ = made()
    posts = limiter.limit("1/minute", methods=["post"])(lambda: "p")
    app.add_url_rule("/posts", "posts", posts, methods=["GET", "POST"])
    app.add_url_rule("/dear", "dear", limiter.limit("4/minute", cost=lambda: 2)(lambda: "d"))
    app.add_url_rule(
        "/staff", "staff", limiter.limit("1/minute", exempt_when=lambda: "staff" in request.args)(lambda: "s")
    )
    app.add_url_rule("/plan", "plan", limiter.limit(lambda: request.args["plan"])(lambda: "p"))
    assert statuses(app, "/posts", 3) == [200, 200, 200]
    with app.test_client() as client:
        assert [client.post("/posts").status_code for _ in range(2)] == [200, 429]
    assert statuses(app, "/dear", 3) == [200, 200, 429]
    assert statuses(app, "/staff?staff", 3) == [200] * 3
    assert statuses(app, "/plan?plan=2/minute", 3) == [200, 200, 429]


def test_a_blueprint_and_a_function_that_is_called_in_a_request() -> None:
    app, limiter, _ = made()
    api = Blueprint("api", __name__)
    api.add_url_rule("/a", "a", lambda: "a")
    limiter.limit("2/minute")(api)
    app.register_blueprint(api)

    @limiter.limit("1/minute")
    def mail() -> str:
        return "sent"

    app.add_url_rule("/mail", "mailing", lambda: mail())
    assert statuses(app, "/a", 3) == [200, 200, 429]
    assert statuses(app, "/mail", 2) == [200, 429]


def test_an_error_handler_gets_the_refusal_and_a_message_of_ones_own() -> None:
    app, limiter, _ = made(legacy_headers=True)
    app.add_url_rule("/", "view", limiter.limit("1/minute", error_message="slowly")(lambda: "seen"))
    heard: list[Any] = []

    @app.errorhandler(429)
    def handler(error: Any) -> Any:
        heard.append(error)
        return error

    with app.test_client() as client:
        assert client.get("/").headers["X-RateLimit-Remaining"] == "0"
        refused = client.get("/")
        assert (refused.status_code, refused.mimetype) == (429, "application/problem+json")
        assert refused.get_json(force=True)["detail"] == "slowly"
        assert refused.headers["Retry-After"] == "60"
        assert refused.headers["RateLimit"]
    assert [error.answer.headers["Retry-After"] for error in heard] == ["60"]


@pytest.mark.parametrize("nothing", [None, "", b"", True, 1.5])
def test_a_key_function_that_returns_nothing_is_a_400(nothing: object, warned: pytest.LogCaptureFixture) -> None:
    app, _, _ = made(key_func=lambda: nothing, default_limits=["1/minute"])
    app.add_url_rule("/", "view", lambda: "seen")
    assert statuses(app, "/", 3) == [400] * 3
    assert re.search(r"test_flask.*as the key", warned.text)


def test_a_forwarded_address_counts_only_from_a_proxy_that_was_named() -> None:
    def asked(**options: Any) -> list[int]:
        app, _, _ = made(default_limits=["1/minute"], **options)
        app.add_url_rule("/", "view", lambda: "seen")
        with app.test_client() as client:
            return [client.get("/", headers={"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in range(2)]

    assert asked() == [200, 429]
    assert asked(trusted_proxies=["loopback"]) == [200, 200]
    assert asked(trusted_proxies=["loopback"], key_func=get_remote_address) == [200, 429]


def test_what_cannot_be_is_told_of_at_the_start() -> None:
    with pytest.raises(quotalock.InvalidPolicy, match="default_limits"):
        Limiter(default_limits=["10/fortnight"])
    with pytest.raises(quotalock.InvalidPolicy, match="limit"):
        Limiter().limit("many")
    with pytest.raises(quotalock.InvalidArgument, match="a function that returns one"):
        Limiter(default_limits=[10])  # type: ignore[list-item]
    with pytest.raises(quotalock.InvalidArgument, match="default_limits: give a list"):
        Limiter(default_limits=None)  # type: ignore[arg-type]
    with pytest.raises(quotalock.InvalidArgument, match="Limiter: key_func is a function, not 'ip'"):
        Limiter("ip")  # type: ignore[arg-type]
    with pytest.raises(quotalock.InvalidArgument, match=r"Limiter\(app=app\)"):
        Limiter(Flask(__name__))  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [
        {"cost": 0},
        {"cost": True},
        {"cost": "2"},
        {"key_func": "ip"},
        {"exempt_when": True},
    ]
    for options in wrong:
        (name,) = options
        with pytest.raises(quotalock.InvalidArgument, match=f"limit: {name} is a"):
            Limiter().limit("1/minute", **options)
    with pytest.raises(quotalock.InvalidArgument):
        Limiter(trusted_proxies=["0.0.0.0/0"])
    with pytest.raises(TypeError, match="is not awaited"):
        Limiter(client=aio.Client("memory://"))  # type: ignore[arg-type]


def test_a_dry_run_denies_no_request_and_counts_those_that_would_be_denied() -> None:
    app, limiter, _ = made(enforce=False)
    app.add_url_rule("/a", "a", limiter.limit("1/minute", scope="flask-dry-run")(lambda: "a"))
    assert statuses(app, "/a", 3) == [200] * 3
    counted = 'quotalock_decisions_total{limiter="flask-dry-run",result="would_deny",source="memory"} 2\n'
    assert counted in quotalock.prometheus()
