"""Starting and stopping as a person does: the commands, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request

import pytest

from experiments.browsing import ROOT


def start(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "likewise", *arguments, "--json"]
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


@pytest.mark.slow
def test_the_demo_checks_itself():
    done = subprocess.run(["scripts/demo", "--check"], cwd=ROOT, check=False, timeout=600)
    assert done.returncode == 0
