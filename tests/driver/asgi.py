"""The same servers within uvicorn: alone, or mounted in an application of somebody else."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from driver.http import HttpServer, HttpSession

TESTS = str(Path(__file__).parents[1])


class AsgiServer(HttpServer):
    """`uvicorn` with the target's `server.asgi()`, or with its `app` if it has one."""

    command = ("-c", f"import sys; sys.path[0] = {TESTS!r}; from driver import asgi; asgi.main()")


class AsgiSession(HttpSession):
    """As over HTTP, which it is."""

    opener = AsgiServer


def main() -> None:
    """Serve a file as the tests ask for it."""
    import uvicorn

    parser = argparse.ArgumentParser()
    parser.add_argument("target", type=Path)
    parser.add_argument("--port", type=int)
    parser.add_argument("--path", default="/mcp")
    parser.add_argument("--root-path", default="")
    parser.add_argument("--legacy-sse", action="store_true")
    parser.add_argument("--lifespan", default="auto")
    parser.add_argument("--allow-host", action="append")
    parser.add_argument("--allow-origin", action="append")
    given = parser.parse_args()

    from driver.direct import load

    module = load(given.target)
    app: Any = getattr(module, "app", None) or module.server.asgi(
        given.path,
        allowed_hosts=given.allow_host,
        allowed_origins=given.allow_origin,
        legacy_sse=given.legacy_sse,
    )
    uvicorn.run(
        app,
        port=given.port,
        root_path=given.root_path,
        lifespan=given.lifespan,
        access_log=False,
        # Beyond what the server itself allows, so that it is asked.
        h11_max_incomplete_event_size=1 << 20,
    )
