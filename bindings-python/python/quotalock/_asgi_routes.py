"""The template of the path by which an ASGI application reached an endpoint or a mounted application.

`/shops/{shop}/orders`, never `/shops/42/orders`: a name made of what clients send would have as many limits. Routes are
those of Starlette and FastAPI, known by their attributes; other applications have no template.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from ._names import methods_text

Scope = MutableMapping[str, Any]


@dataclass(eq=False)
class Place:
    """A route, or a mount, with all mounts around it."""

    path: str
    route: Any
    methods: frozenset[str] | None
    # Regular expressions of hosts and paths, from the outermost on.
    steps: tuple[tuple[str, re.Pattern[str]], ...]
    # What a package keeps about it.
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def methods_text(self) -> str:
        """Its methods as a part of a name."""
        return methods_text(self.methods)

    def leads(self, path: str, host: str) -> bool:
        """Whether a request for this path comes by here."""
        for what, pattern in self.steps:
            found = pattern.match(path if what == "path" else host)
            if found is None:
                return False
            if what == "path" and "path" in found.groupdict():
                path = f"/{found['path']}"
        return True


class Places:
    """All places of an outermost router."""

    def __init__(self, router: Any) -> None:  # noqa: ANN401
        self._routes = router.routes
        self._known: dict[int, list[Place]] = {}

    def of(self, scope: Scope) -> Place | None:
        """The place of the endpoint that a request has reached."""
        endpoint = scope.get("endpoint")
        if endpoint is None:
            return None
        if id(endpoint) not in self._known:
            # Routes may be added at any time.
            self._known = {}
            for place, ending in _walk(self._routes, "", (), set()):
                self._known.setdefault(id(ending), []).append(place)
            self._known.setdefault(id(endpoint), [])
        method = scope.get("method")
        found = [
            place
            for place in self._known.get(id(endpoint), ())
            if method is None or place.methods is None or method in place.methods
        ]
        if len(found) < 2:
            return found[0] if found else None
        path, host = _path(scope), _host(scope)
        return next((place for place in found if place.leads(path, host)), None)

    def __iter__(self) -> Iterator[Place]:
        return (place for place, _ in _walk(self._routes, "", (), set()))


def places_of(router: Any) -> Places:  # noqa: ANN401
    """The places of a router, which keeps them."""
    places = router.__dict__.get("_quotalock_places")
    if not isinstance(places, Places):
        places = router.__dict__["_quotalock_places"] = Places(router)
    return places


def place_in(scope: Scope) -> Place | None:
    """The place that a request has reached, if the outermost application is one of Starlette or FastAPI."""
    router = scope.get("router")
    return places_of(router).of(scope) if hasattr(router, "routes") else None


def _walk(
    routes: Iterable[Any], path: str, steps: tuple[tuple[str, re.Pattern[str]], ...], above: set[int]
) -> Iterator[tuple[Place, Any]]:
    for route in _flat(routes):
        pattern: Any = getattr(route, "path_regex", None)
        host: Any = getattr(route, "host_regex", None)
        if pattern is None and host is None:
            continue
        step: tuple[str, re.Pattern[str]] = ("path", pattern) if host is None else ("host", host)
        here = path + (getattr(route, "path", "") if host is None else f"//{route.host}")
        inner = getattr(route, "routes", None)
        mounted = getattr(route, "app", None) if inner is not None else None
        ending = mounted if inner is not None else getattr(route, "endpoint", None)
        methods = getattr(route, "methods", None)
        yield Place(here, route, frozenset(methods) if methods else None, (*steps, step)), ending
        if inner and id(mounted) not in above:
            yield from _walk(inner, here, (*steps, step), above | {id(mounted)})


def _flat(routes: Iterable[Any]) -> Iterable[Any]:
    """The routes, with those of FastAPI's included routers, which know their prefixes."""
    routing = sys.modules.get("fastapi.routing")
    flat = getattr(routing, "iter_route_contexts", None)
    found: Iterable[Any] = flat(routes) if flat else routes
    return found


def _path(scope: Scope) -> str:
    """The path of a request as the outermost application got it."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    outermost = str(scope.get("app_root_path", root))
    # Starlette before 0.33 took what is mounted out of the path.
    full = path if path.startswith(root) else root + path
    return full[len(outermost) :] if full.startswith(outermost) else full


def _host(scope: Scope) -> str:
    hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
    host = hosts[0].decode("latin-1") if hosts else ""
    return re.sub(r":\d+\Z", "", host).lower()
