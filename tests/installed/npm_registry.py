"""An npm registry on a loopback port that has the packages of `make dist` and nothing else."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a registry with the archives of a folder, while the block runs."""
    archives = {_described(file)["name"]: file for file in folder.glob("quotalock-[0-9n]*.tgz")}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = unquote(self.path.lstrip("/"))
            if name in archives:
                self._send(json.dumps(_metadata(archives[name], address)).encode(), "application/json")
            elif (folder / name).is_file():
                self._send((folder / name).read_bytes(), "application/octet-stream")
            else:
                self.send_error(404)

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield address
        server.shutdown()


def _metadata(archive: Path, address: str) -> dict[str, Any]:
    """What a registry tells npm of a package with one version."""
    described = _described(archive)
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    described["dist"] = {"tarball": f"{address}/{archive.name}", "integrity": f"sha512-{digest}"}
    version = described["version"]
    return {"name": described["name"], "dist-tags": {"latest": version}, "versions": {version: described}}


def _described(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as packed:
        read = packed.extractfile("package/package.json")
        described: dict[str, Any] = json.loads(read.read() if read else b"{}")
    return described
