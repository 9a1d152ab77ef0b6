"""The shop of the incident: nginx and eight php-fpm workers that serve one PHP script."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from needs import Tools
from program import Program, free_port, listens

WORKERS = 8

FPM = """
[global]
daemonize = no
error_log = /dev/stderr
log_level = warning
[shop]
listen = {folder}/fpm.sock
pm = static
pm.max_children = {workers}
catch_workers_output = yes
{settings}
"""

# Debian's nginx is told every path, since a plain user may not write to the ones that it was built with.
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
worker_processes 1;
{user}
events {{ worker_connections 1024; }}
http {{
  log_format demo '$msec $status $arg_client';
  access_log {folder}/access.log demo buffer=64k flush=100ms;
  client_body_temp_path {folder}/nginx-body;
  fastcgi_temp_path {folder}/nginx-fastcgi;
  proxy_temp_path {folder}/nginx-proxy;
  scgi_temp_path {folder}/nginx-scgi;
  uwsgi_temp_path {folder}/nginx-uwsgi;
  keepalive_requests 100000000;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      fastcgi_pass unix:{folder}/fpm.sock;
      fastcgi_param SCRIPT_FILENAME {script};
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param QUERY_STRING $query_string;
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Shop:
    """A running shop: where it listens, and its access log with a line `seconds status client` per request."""

    url: str
    access_log: Path


@contextlib.contextmanager
def open_shop(
    tools: Tools, folder: Path, script: Path, *, settings: dict[str, str], extension: Path | None = None
) -> Iterator[Shop]:
    """Serves `script` until the block ends.

    `settings` are lines of the pool, such as `env[WINDOW_MS]`; `extension` is loaded beside those of php.ini.
    """
    folder.mkdir()
    port = free_port()
    root = os.geteuid() == 0
    settings = ({"user": "root"} if root else {}) | settings
    pool = "\n".join(f"{name} = {value}" for name, value in settings.items())
    (folder / "fpm.conf").write_text(FPM.format(folder=folder, workers=WORKERS, settings=pool))
    (folder / "nginx.conf").write_text(
        NGINX.format(folder=folder, port=port, script=script, user="user root;" if root else "")
    )
    # As root it stays root (-R): the scripts may lie in a home folder that nobody else can read.
    fpm = [tools.fpm, "--fpm-config", str(folder / "fpm.conf"), *(["-R"] if root else [])]
    fpm += ["-d", f"extension={extension}"] if extension else []
    nginx = [tools.nginx, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    shop = Shop(f"http://127.0.0.1:{port}/", folder / "access.log")
    with (
        Program("php-fpm", fpm, folder / "php-fpm.log", (folder / "fpm.sock").exists),
        Program("nginx", nginx, folder / "nginx.log", lambda: listens(port)),
    ):
        yield shop
