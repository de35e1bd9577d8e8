"""HTTP API, jobs, security; static/ holds the web page."""

from likewise.server.access import Access
from likewise.server.app import make_app
from likewise.server.serving import serve

__all__ = ["Access", "make_app", "serve"]
