"""The programs of the languages that workers are started with: the same versions that run the tests."""

from __future__ import annotations

import os
import sys

from servers import ROOT

PYTHON = [sys.executable]
PHP = [
    "php",
    "-d",
    f"extension={os.environ.get('QUOTALOCK_PHP_EXTENSION', ROOT / 'bindings-php/modules/ratelimit.so')}",
]
NODE = ["node"]
