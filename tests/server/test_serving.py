"""Starting and stopping as a person does: the commands, in a process of their own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest
import uvicorn

from experiments.browsing import ROOT
from likewise.server.serving import _Server


def start(
    *arguments: str, descriptors: int = 0, **environment: str
) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "likewise", *arguments, "--json"]
    if descriptors:
        command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    said = ""
    while not said.rstrip().endswith("}"):
        line = process.stdout.readline()
        if not line:
            return process, process.stderr.read()
        said += line
    return process, json.loads(said)["address"]


def stop(process: subprocess.Popen[str]) -> int:
    if process.poll() is None:
        process.terminate()
    code = process.wait(60)
    process.stdout.close()
    process.stderr.close()
    return code


def status(address: str) -> dict:
    base, _, token = address.partition("/?token=")
    asked = urllib.request.Request(
        f"{base}/api/v1/status", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def test_open_serves_at_once_and_indexes_meanwhile(tmp_path):
    from likewise.datasets import swatches

    folder = swatches(30, size=64, seed=5).write(tmp_path / "pictures", jobs=1)
    process, address = start(
        "open", str(folder), "--no-browser", "--port", "0", "--features", "colour,texture"
    )
    try:
        deadline = time.monotonic() + 120
        while not (found := status(address))["generation"]:
            assert time.monotonic() < deadline, found
            time.sleep(0.2)
        assert found["findable"] == 30
        other, said = start("open", str(folder), "--no-browser", "--port", "0")
        assert stop(other) == 3
        assert "wait until it is done or stop it" in said
    finally:
        assert stop(process) == 0


def test_serving_other_machines_without_a_password_is_refused(folder):
    process, said = start("serve", "-c", str(folder), "--host", "0.0.0.0", LIKEWISE_PASSWORD="")
    assert stop(process) == 2
    assert "TLS" in said
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_named(server, folder, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    process, said = start("serve", "-c", str(copy), "--port", str(server.port))
    assert stop(process) == 2
    assert "--port" in said


def test_stopping_in_the_middle_of_an_answer_prints_no_trace(capsys):
    asked = threading.Event()

    async def never_done(scope, receive, send):
        asked.set()
        await asyncio.sleep(600)

    config = uvicorn.Config(never_done, lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = _Server(config, lambda: None, lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        with socket.create_connection(listening.getsockname()) as wire:
            wire.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert asked.wait(60)
            server.should_exit = True
            thread.join(60)
    assert not thread.is_alive()
    said = capsys.readouterr().err
    assert "Finished server process" in said
    assert "Traceback" not in said
    assert "ERROR" not in said


def test_the_browser_is_given_a_file_that_only_the_owner_can_read(folder, tmp_path):
    """Whoever lists the processes sees the browser's command line; the token is not there."""
    shown = tmp_path / "shown"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {shown}.part && mv {shown}.part {shown}\n')
    browser.chmod(0o700)
    process, address = start(
        "open", str(folder), "--port", "0", BROWSER=f"{browser} %s", DISPLAY=":0"
    )
    try:
        deadline = time.monotonic() + 60
        while not shown.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        token = address.partition("token=")[2]
        assert token not in shown.read_text()
        file = folder / ".likewise" / "open.html"
        assert shown.read_text() == file.as_uri()
        assert f"url={address}" in file.read_text()
        assert file.stat().st_mode & 0o077 == 0
    finally:
        assert stop(process) == 0
    assert not file.exists()


@pytest.mark.slow
def test_the_demo_checks_itself():
    done = subprocess.run(["scripts/demo", "--check"], cwd=ROOT, check=False, timeout=600)
    assert done.returncode == 0
