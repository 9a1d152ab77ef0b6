"""A Django project in one file. Start it with `python app.py runserver`, and ask for /search more than three times."""

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application

settings.configure(
    SECRET_KEY="of an example",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="urls",
    MIDDLEWARE=["quotalock.django.RateLimitMiddleware"],
    INSTALLED_APPS=["rest_framework"],
    CACHES={"default": {"BACKEND": "quotalock.django.QuotalockCache", "LOCATION": os.environ.get("QUOTALOCK_URL", "")}},
    QUOTALOCK={"ON_ERROR": os.environ.get("ON_ERROR", "closed")},
    REST_FRAMEWORK={
        "UNAUTHENTICATED_USER": None,
        "DEFAULT_THROTTLE_CLASSES": ["quotalock.drf.AnonRateThrottle", "quotalock.drf.ScopedRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": "100/minute;1000/day", "api": "3/2 seconds"},
    },
)

application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
