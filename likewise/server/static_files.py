"""Files of the page: read at the start, sent compressed, and kept by browsers for good.

Their address holds a digest of all of them, which the page and its modules name instead of
``/static/``.  So a browser asks for each file once, and for all of them anew after an update.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import cache
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

KINDS = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "woff2": "font/woff2"}
YEAR = {"Cache-Control": "private, max-age=31536000, immutable"}


class StaticFiles:
    """Files of a folder by their name in it."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        raw = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        self.root = f"{hashlib.sha256(repr(raw).encode()).hexdigest()[:16]}/"
        mine, texts = f'"/static/{self.root}'.encode(), ("js", "css", "html")
        self._files = {
            name: data.replace(b'"/static/', mine) if name.endswith(texts) else data
            for name, data in raw.items()
        }
        self._packed = cache(lambda name: gzip.compress(self._files[name], 9, mtime=0))
        self._html = cache(self._naming_modules)

    async def page(self, request: Request) -> Response:
        """The page at one of its addresses."""
        return HTMLResponse(self._html(f"screens/{request.url.path[1:] or 'home'}.js"))

    def nowhere(self, status: int) -> Response:
        """The page at an address that is none of its own."""
        return HTMLResponse(self._html(), status)

    def _naming_modules(self, *screen: str) -> str:
        """The page, which names every module that it will need, so that none waits for another."""
        found = ["main.js", *screen]
        for name in found:
            text = self._files[name].decode()
            named = re.findall(rf'^import .*"/static/{self.root}([^"]+)"', text, re.M)
            found += [one for one in dict.fromkeys(named) if one not in found]
        link = '  <link rel="modulepreload" href="/static/{}{}">\n'
        links = "".join(link.format(self.root, name) for name in found)
        return self._files["index.html"].decode().replace("</head>", f"{links}</head>")

    async def send(self, request: Request) -> Response:
        """Send one."""
        asked = str(request.path_params["name"])
        name = asked.removeprefix(self.root)
        if name not in self._files:
            raise HTTPException(404)
        headers = {} if name == asked else dict(YEAR)
        kind = KINDS.get(name.rpartition(".")[2], "text/plain")
        if kind == KINDS["woff2"] or "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self._files[name], headers=headers, media_type=kind)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(self._packed(name), headers=headers, media_type=kind)
