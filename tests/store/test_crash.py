"""Killed at any moment, nothing acknowledged is lost; a wrong order would be noticed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.crash import main
from experiments.report import Report
from likewise.store import Store, verify
from likewise.types import Judgement, NotFound, QueryRef
from tests.store.conftest import add, embed
from tests.store.test_opening import in_child

DISK = ("fsync", "replace", "rename", "unlink", "mkdir", "ftruncate", "link")


def test_twenty_kills_lose_nothing_and_sabotage_is_caught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report("crash", quick=True)
    main(report)
    ours, command, control = report.rows
    assert ours["kills"] == 20
    assert ours["acknowledged"] > 20
    for row in (ours, command):
        assert row["lost"] == row["damage"] == row["wrong_probes"] == 0
    assert control["damage"] > 0
    assert "Nothing was lost; the sabotaged order was caught" in capsys.readouterr().out


def die_at(fatal: int) -> list[str]:
    """Let this process die at its n-th call that touches the disk; gives the calls so far."""
    calls: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) == fatal:
                os._exit(9)
            return real(*arguments, **named)

        return call

    for name in DISK:
        setattr(os, name, counted(name, getattr(os, name)))
    return calls


def _scenario(pipe: Connection, folder: str, fatal: int) -> None:
    """Do one of everything and die at the ``fatal``-th call that touches the disk."""
    calls = die_at(fatal)
    with Store.open(folder, write=True) as store:
        add(store, [b"new-1.jpg", b"new-2.jpg"])
        embed(store)
        pipe.send("embedded")
        store.judgements.add([Judgement(QueryRef("item", "new-1.jpg"), ("old-1.jpg",), "label")])
        pipe.send("judged")
        model = store.models.add("m", {"w": np.ones(3)}, {}, space="s")
        store.models.activate(model.id)
        pipe.send("active")
        with store.generations.build() as aside:
            np.save(aside / "codes.npy", np.ones(3))
            store.generations.publish(aside, space="s", kind="flat", segment=2, items=4)
        pipe.send("published")
        store.forget([store.items.find("old-2.jpg").id])
        pipe.send("forgotten")
    pipe.send(len(calls))


@pytest.mark.parametrize(
    "every", [pytest.param(5, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
def test_death_at_calls_that_touch_the_disk(folder: Path, tmp_path: Path, every: int) -> None:
    with Store.open(folder, create=True) as store:
        add(store, [b"old-1.jpg", b"old-2.jpg"])
        embed(store)
    rehearsal = tmp_path / "rehearsal"
    shutil.copytree(folder, rehearsal)
    calls = in_child(_scenario, str(rehearsal), 0)[-1]
    assert calls > 20
    for fatal in range(1, calls + 1, every):
        again = tmp_path / f"life-{fatal}"
        shutil.copytree(folder, again)
        done = in_child(_scenario, str(again), fatal)
        with Store.open(again, write=True) as store:
            assert verify(again) == [], fatal
            _compare(store, done)
            add(store, [b"after.jpg"])
            embed(store)
        assert not list(again.rglob(".tmp-*"))
        shutil.rmtree(again)


def _compare(store: Store, done: list[Any]) -> None:
    if "embedded" in done:
        assert store.items.find("new-2.jpg").state in ("embedded", "indexed")
    if "judged" in done:
        assert len(store.judgements) == 1
    if "active" in done:
        active = store.models.active()
        assert active is not None
        assert store.models.load(active.id)[0]["w"].tolist() == [1, 1, 1]
    if "published" in done and "forgotten" not in done:
        made = store.generations.current()
        # Forgetting, which comes next, withdraws it.
        assert made is None or store.generations.unusable(made, "s") == ""
    if "forgotten" in done:
        with pytest.raises(NotFound):
            store.items.find("old-2.jpg")
    else:
        assert store.items.find("old-1.jpg").state in ("embedded", "indexed")
