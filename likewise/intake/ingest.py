"""Pictures in: scan, read each new file once in a child process, commit in batches.

A child reads a file, hashes it, and describes it unless its content is known, so that hash and
vectors are of the same bytes.

Whatever was committed stays; whatever was not is found again by the next scan.  So
the work may be stopped at any moment, by Ctrl-C or by a power cut, and goes on where
it was.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from likewise.features import block_of
from likewise.intake import LOCAL, UNREACHABLE
from likewise.intake.forecast import Forecast, Pace
from likewise.intake.own_vectors import with_places
from likewise.intake.reading.decoding import Unreadable
from likewise.intake.roots import drop_roots, other_roots, root_of
from likewise.intake.scanning import Scan, scan
from likewise.intake.workers import Outcome, Task, describe, digest_of, short
from likewise.store import Comparison, Result, Seen, Store, Text
from likewise.types import DataProblem, Progress

DISKS = "disks"
"""Setting: devices of folders."""
AWAY = "The disk that was here is away; if for good, run index with --accept-missing."
COMMIT_EVERY = 64
"""Pictures in one transaction, at most ..."""
COMMIT_SECONDS = 2.0
"""... or as many as came in this time; the first ones sooner, since somebody waits for them."""
FIRST_SECONDS = 0.5
MANY = 4_096
"""Known contents of one size, beyond which a file is hashed before it is handed out."""
FEW_MISSING = 10
"""So few files may always go missing without a question ..."""
SHARE_MISSING = 0.2
"""... and so large a share of a collection."""


@dataclass
class IngestReport:
    """What an ingest did."""

    found: int = 0
    new: int = 0
    changed: int = 0
    removed: int = 0
    unreachable: int = 0
    renamed: int = 0
    embedded: int = 0
    problems: int = 0
    seconds: float = 0.0
    finished: bool = True
    unreadable_folders: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def ingest(
    store: Store,
    folder: bytes,
    features: Sequence[str],
    *,
    processes: int | None = None,
    gps: bool = False,
    accept_missing: bool = False,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    committed: Callable[[int], None] = lambda embedded: None,
    foreseen: Callable[[Forecast], None] = lambda forecast: None,
) -> IngestReport:
    """Bring a collection, opened for writing, up to date with its folder.

    ``accept_missing`` lets a scan that finds far fewer files than before mark the rest as removed.
    ``progress`` is called with (done, total) pictures; ``should_stop`` is asked after each and
    pauses the work; ``committed`` is told after each commit how many this run has embedded,
    ``foreseen``, from the hundredth file on, how long the rest will take.
    """
    started = time.monotonic()
    others = other_roots(store)
    found = scan(folder, os.fsencode(store.folder), others)
    if accept_missing:  # folders that are away are gone for good
        lost_roots = {root for root in others if found.unreachable.pop(root, None)}
        drop_roots(store, lost_roots)
    comparison = store.items.compare(found.files)
    away, reasons, disks = find_unreachable(store, found, comparison, accept_missing)
    missing = set(comparison.missing.tolist()) - away
    if not accept_missing:
        lost = len(missing - comparison.moved)
        check_not_vanished(comparison.known, lost, len(found.files), folder)
    store.settings.set(DISKS, disks)
    store.settings.set(UNREACHABLE, {"items": len(away), "folders": reasons})
    report = IngestReport(
        found=len(found.files),
        new=len(comparison.new) + len(comparison.returned),
        changed=len(comparison.changed),
        unreachable=len(away),
        unreadable_folders=reasons,
    )
    run = _Run(store, folder, comparison, missing, away, report, progress, foreseen)
    run.follow(others, set(found.unreachable))
    outcomes = describe(run.tasks(), with_places(store, features), processes=processes, gps=gps)
    try:
        for outcome in outcomes:
            if run.take(outcome):
                committed(report.embedded)
            if should_stop():
                report.finished = False
                break
    except KeyboardInterrupt:
        report.finished = False
    finally:
        outcomes.close()  # type: ignore[attr-defined]
        run.commit()
    if report.finished:
        run.remove_missing()
        run.leave_roots()
    report.seconds = time.monotonic() - started
    return report


def find_unreachable(
    store: Store, found: Scan, comparison: Comparison, accept_missing: bool
) -> tuple[set[int], list[str], dict[str, tuple[int, int]]]:
    """Missing items that are out of reach rather than deleted, why, and disks to remember.

    A file is out of reach where a folder above it cannot be listed or is a dead link, or where
    its disk is away: a folder that was on a device of its own is gone or on another device, and
    not one picture of that disk is in it.  A disk is remembered by its device, and by how many
    pictures are away with it.
    """
    reasons = {**found.unreachable, **found.dead_links}
    disks = {os.fsdecode(path): (number, 0) for path, number in found.disks.items()}
    paths = store.items.paths(comparison.missing.tolist())
    remembered = {} if accept_missing else store.settings.get(DISKS, {})
    for name, (number, before) in remembered.items():
        disk = os.fsencode(name)
        gone = sum(path.startswith(disk + b"/") for path in paths.values())
        none_is_back = gone >= before if before else not _any_known(found, comparison, disk + b"/")
        if gone and none_is_back and found.disks.get(disk) != number:
            reasons.setdefault(disk, AWAY)
            disks[name] = (number, gone)
    away, used = set[int](), set(found.unreachable)
    for item, path in paths.items():
        above = _above(path, reasons)
        if above is not None:
            away.add(item)
            used.add(above)
    return away, [f"{os.fsdecode(p) or '.'}: {reasons[p]}" for p in sorted(used)], disks


def _any_known(found: Scan, comparison: Comparison, below: bytes) -> bool:
    new = {file.path for file in comparison.new}
    return any(f.path.startswith(below) and f.path not in new for f in found.files)


def _above(path: bytes, reasons: Mapping[bytes, str]) -> bytes | None:
    """The nearest of the folders (or the path itself) that has a reason."""
    while path not in reasons and path:
        path = path.rpartition(b"/")[0]
    return path if path in reasons else None


def check_not_vanished(known: int, missing: int, found: int, folder: bytes) -> None:
    """Refuse to believe that much of a collection is gone: a disk may not be mounted."""
    few = missing <= max(FEW_MISSING, known * SHARE_MISSING)
    if few and (found or not missing):
        return
    raise DataProblem(
        f"The folder {os.fsdecode(folder)} holds {found:,} pictures, but {known:,} were known and "
        f"{missing:,} of them are missing; nothing was changed. Is a disk not mounted? If they are "
        "really gone, run this again with --accept-missing."
    )


class _Run:
    """One ingest under way: what is known of each task, and the batch not yet committed."""

    def __init__(
        self,
        store: Store,
        folder: bytes,
        comparison: Comparison,
        missing: set[int],
        unreachable: set[int],
        report: IngestReport,
        progress: Progress | None,
        foreseen: Callable[[Forecast], None],
    ) -> None:
        self.store, self.folder, self.report = store, folder, report
        self.foreseen = foreseen
        self.others, self.away, self.refound = list[bytes](), set[bytes](), 0
        self.elsewhere: dict[int, bytes] = {}
        files = [*comparison.new, *comparison.changed, *comparison.returned]
        self.first = store.items.reserve()
        self.files = [file._replace(id=self.first + at) for at, file in enumerate(files)]
        self.changed = {file.path for file in comparison.changed}
        self.missing = missing
        self.gone = missing | unreachable
        self.progress = progress
        self.given: dict[int, Seen] = {}
        self.batch: list[tuple[Seen, Outcome]] = []
        self.committed = time.monotonic()
        self.total = len(files) + store.contents.waiting()
        self.done = 0
        self.pace = Pace(self.total, sum(f.size for f in files) + store.contents.waiting_bytes())
        # Only files of one size can be copies: known contents by the sizes that matter.
        sizes = Counter(file.size for file in files)
        self.known: dict[int, set[bytes]] = {size: set() for size, n in sizes.items() if n > 1}
        for size, digest in store.contents.described(sizes):
            self.known.setdefault(size, set()).add(short(digest))

    def follow(self, others: list[bytes], away: set[bytes]) -> None:
        """Take pictures of folders that are away for moved where their contents are elsewhere."""
        self.others, self.away = others, away & set(others)
        paths = self.store.items.paths(self.gone - self.missing)
        self.elsewhere = {
            item: root
            for item, path in paths.items()
            if (root := root_of(path, self.folder, others)) in self.away
        }

    def leave_roots(self) -> None:
        """Forget folders that are away once all of their pictures were found elsewhere."""
        left = set(self.elsewhere.values())
        if self.refound:
            drop_roots(self.store, self.away - left)
            self.report.unreachable -= self.refound
            told = self.store.settings.get(UNREACHABLE, {})
            self.store.settings.set(UNREACHABLE, {**told, "items": self.report.unreachable})

    # -- what is to do -----------------------------------------------------------

    def tasks(self) -> Iterator[Task]:
        """Contents that wait, then the scan's files; what may be a copy of one of them last."""
        self._tell()
        yield from map(self._task, self._waiting())
        sizes, later = set[int](), list[Seen]()
        for file in self.files:
            if file.size in sizes:
                later.append(file)
            else:
                sizes.add(file.size)
                yield self._task(file)
        yield from map(self._task, later)

    def _waiting(self) -> Iterator[Seen]:
        rows, number = self.store.contents.pending(256), self.first + len(self.files)
        while rows:
            for row in rows:
                if row.item not in self.gone and row.path not in self.changed:
                    yield Seen(row.path, row.size, row.mtime_ns, None, number)
                    number += 1
            rows = self.store.contents.pending(256, rows[-1].content)

    def _task(self, file: Seen) -> Task:
        number = file.id or 0
        self.given[number] = file
        known = self.known.get(file.size, set()) if number < self.first + len(self.files) else set()
        if len(known) > MANY:
            known = known & {short(self._digest(file))}
        return Task(number, os.path.join(self.folder, file.path), known=frozenset(known))

    def _digest(self, file: Seen) -> bytes:
        try:
            return digest_of(os.path.join(self.folder, file.path))
        except Unreadable:
            return b""

    # -- what was done -----------------------------------------------------------

    def take(self, outcome: Outcome) -> bool:
        """Keep an outcome; commit when the batch is full or old, and say whether it did."""
        file = self.given.pop(outcome.key)
        digest = outcome.sha256 or self._digest(file)  # a child that died could not tell it
        if not digest and not os.path.isdir(root_of(file.path, self.folder, self.others)):
            self.report.unreachable += 1  # its drive was pulled out: no fault of the file
            return False
        self.batch.append((file._replace(sha256=digest or None), outcome))
        if digest and file.size in self.known:
            self.known[file.size].add(short(digest))
        self.done += 1
        self.pace.took(file.size, outcome)
        first = self.report.embedded < COMMIT_EVERY
        waited = time.monotonic() - self.committed
        due = len(self.batch) >= COMMIT_EVERY or waited > (
            FIRST_SECONDS if first else COMMIT_SECONDS
        )
        if due:
            self.commit()
        self._tell()
        return due

    def commit(self) -> None:
        """Write the batch: segment file first, then one transaction."""
        batch, self.batch = sorted(self.batch, key=lambda pair: pair[1].key), []
        if not batch:
            return
        with self.store.transaction():
            troubled = self._see(batch)
            waiting = self.store.contents.undescribed([f.sha256 for f, _ in batch if f.sha256])
            outcomes = [
                replace(outcome, key=waiting.pop(file.sha256))
                for file, outcome in batch
                if file.sha256 in waiting and (outcome.picture or outcome.problem)
            ]
            good = [o for o in outcomes if o.picture is not None]
            names = good[0].features if good else ()
            blocks = {name: np.stack([o.features[name] for o in good]) for name in names}
            results = [result_of(o) for o in outcomes]
            self.store.contents.record(results, blocks, dtype=kept_as(blocks))
        self.report.embedded += len(good)
        self.report.problems += troubled + len(outcomes) - len(good)
        self.committed = time.monotonic()

    def _see(self, batch: list[tuple[Seen, Outcome]]) -> int:
        """Record files: a known content under a new name, whose old name is gone, is a rename.

        Gives how many could not be read at all.
        """
        files = [file for file, _ in batch]
        holders = self.store.items.by_content([f.sha256 for f in files if f.sha256])
        known = self.store.items.ids([f.path for f in files])
        renames: list[tuple[int, bytes]] = []
        for file in files:
            held = holders.get(file.sha256 or b"", [])
            old = [i for i in held if i in self.missing or i in self.elsewhere]
            if old and file.path not in known:
                self.missing.discard(old[0])
                self.refound += self.elsewhere.pop(old[0], None) is not None
                renames.append((old[0], file.path))
        if renames:
            self.store.items.rename(renames)
            self.report.renamed += len(renames)
            self.report.new -= len(renames)
        ids = self.store.items.see(files)
        troubled = [(i, o.problem) for i, (file, o) in zip(ids, batch) if file.sha256 is None]
        self.store.items.trouble(troubled)
        return len(troubled)

    def remove_missing(self) -> None:
        """Files that are gone leave search; their judgements stay."""
        if self.missing:
            self.store.items.remove(sorted(self.missing))
            self.report.removed = len(self.missing)

    def _tell(self) -> None:
        if (forecast := self.pace.forecast) is not None:
            self.foreseen(forecast)
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)


def kept_as(blocks: Iterable[str]) -> dict[str, str]:
    """How each block is kept: local features are bytes, the rest are numbers."""
    return {name: "uint8" if name == LOCAL else "float16" for name in blocks}


def result_of(outcome: Outcome) -> Result:
    """What the catalogue keeps of an outcome: facts, embedded and automatic tags, thumbnail."""
    picture = outcome.picture
    if picture is None:
        return Result(outcome.key, problem=outcome.problem)
    facts = picture.metadata
    tags = [Text(word, "embedded") for word in facts.keywords]
    tags += [Text(name, "auto", score) for name, score in auto_tags(outcome.features)]
    extra: Mapping[str, object] = {"place": list(facts.place)} if facts.place else {}
    return Result(
        outcome.key,
        width=picture.width,
        height=picture.height,
        format=picture.format,
        taken=facts.taken or None,
        camera=facts.camera or None,
        metadata=extra,
        tags=tags,
        captions=[Text(facts.caption, "embedded")] if facts.caption.strip() else [],
        thumbnails={"small": picture.thumbnail},
    )


def auto_tags(features: Mapping[str, np.ndarray]) -> list[tuple[str, float]]:
    """The deep network's best class names, where it is fairly sure."""
    from likewise.features.class_names import tags  # heavy room: only while pictures come in

    logits = next((x for name, x in features.items() if block_of(name) == "logits"), None)
    return [] if logits is None else [(t.name, t.probability) for t in tags(logits)[0]]
