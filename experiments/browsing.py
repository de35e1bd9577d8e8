"""A served collection and a browser to look at it with, for experiments, benchmarks and tests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
INSTALL = "apt-get update && apt-get install -y chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Served:
    """``likewise serve`` as a person starts it, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self.process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self) -> Served:
        """Start it, and wait until it has printed its address."""
        command = [
            sys.executable, "-m", "likewise", "serve", "-c", str(self.folder),
            "--port", str(self.port), "--json",
        ]  # fmt: skip
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            assert line, "the server ended before it was ready"
            said += line
        self.address = json.loads(said)["address"]
        self.port = int(self.base.rpartition(":")[2])
        return self

    @property
    def base(self) -> str:
        """The address without the token."""
        return self.address.partition("/?")[0]

    @property
    def token(self) -> str:
        """What signs a browser in."""
        return self.address.rpartition("=")[2]

    def kill(self) -> None:
        """End it without a word, as a power cut would."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self) -> None:
        """End it in an orderly way."""
        assert self.process is not None
        assert self.process.stdout is not None
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self.process.stdout.close()

    def api(self, path: str, body: object = None) -> Any:
        """Ask the API beside the page."""
        data = None if body is None else json.dumps(body).encode()
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
        }
        asked = urllib.request.Request(f"{self.base}/api/v1{path}", data, headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)
