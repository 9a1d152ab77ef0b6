"""The views of the project, and where they are."""

import json

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.urls import path
from quotalock.django import ratelimit
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


def index(request: HttpRequest) -> HttpResponse:
    return HttpResponse(cache.get_or_set("index", lambda: "hello\n", 60))


@ratelimit(key="ip", rate="3/2 seconds")
def search(request: HttpRequest) -> HttpResponse:
    return HttpResponse("found\n")


def user(group: str, request: HttpRequest) -> str:
    """Whom a login is for. A body without a user is a 400."""
    name: str = json.loads(request.body)["user"]
    return name


@ratelimit(key="ip", rate="20/minute")
@ratelimit(key=user, rate="5/minute")
def login(request: HttpRequest) -> HttpResponse:
    return HttpResponse("welcome\n")


def health(request: HttpRequest) -> HttpResponse:
    return HttpResponse("well\n")


class Api(APIView):
    """Two throttles, decided together."""

    throttle_scope = "api"

    def get(self, request: Request) -> Response:
        return Response({"found": 1})


urlpatterns = [
    path("", index),
    path("search", search),
    path("login", login),
    path("health", health),
    path("api", Api.as_view()),
]
