"""The shape of the catalogue as a short ordered list of steps; old catalogues walk the rest.

Step ``n`` brings a catalogue from version ``n`` to ``n + 1``.  A step that was released
is never edited; a change is a new step at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from likewise.types import DataProblem

APPLICATION = 0x4C494B45
"""``LIKE`` in ASCII: marks an SQLite file as a catalogue of ours."""

ITEMS = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE contents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
    size INTEGER NOT NULL,
    decoded INTEGER NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT '',
    width INTEGER, height INTEGER, format TEXT, taken TEXT, camera TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    segment INTEGER,
    added REAL NOT NULL
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    folder TEXT NOT NULL,
    content INTEGER REFERENCES contents (id),
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    removed REAL,
    metadata TEXT NOT NULL DEFAULT '{}',
    added REAL NOT NULL
);
CREATE INDEX items_content ON items (content);
CREATE INDEX contents_waiting ON contents (id) WHERE segment IS NULL AND problem = '';
"""

TEXTS = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    item INTEGER REFERENCES items (id),
    content INTEGER REFERENCES contents (id),
    kind TEXT NOT NULL CHECK (kind IN ('tag', 'caption')),
    text TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('user', 'folder', 'embedded', 'auto')),
    score REAL,
    CHECK ((item IS NULL) <> (content IS NULL))
);
CREATE UNIQUE INDEX texts_item ON texts (item, kind, source, text) WHERE item IS NOT NULL;
CREATE UNIQUE INDEX texts_content ON texts (content, kind, source, text) WHERE content IS NOT NULL;
CREATE INDEX texts_text ON texts (kind, text COLLATE NOCASE);
CREATE VIEW item_texts AS
    SELECT item, kind, text, source, score FROM texts WHERE item IS NOT NULL
    UNION ALL
    SELECT items.id, kind, text, source, score FROM texts JOIN items USING (content);
CREATE VIRTUAL TABLE words USING fts5 (
    name, folder, tags, captions, metadata, auto,
    tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(3.0, 1.5, 4.0, 3.0, 1.0, 1.0)');
"""

VECTORS = """
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    layout TEXT NOT NULL,
    contents BLOB NOT NULL,
    made REAL NOT NULL
);
CREATE TABLE generations (
    number INTEGER PRIMARY KEY,
    line TEXT NOT NULL,
    kind TEXT NOT NULL,
    space TEXT NOT NULL,
    segment INTEGER NOT NULL,
    items INTEGER NOT NULL,
    manifest TEXT NOT NULL,
    settings TEXT NOT NULL,
    made REAL NOT NULL
);
CREATE VIEW item_states AS
    SELECT i.id AS id,
        CASE WHEN i.removed IS NOT NULL THEN 'removed'
             WHEN i.problem <> '' THEN 'problem'
             WHEN i.content IS NULL THEN 'seen'
             WHEN c.problem <> '' THEN 'problem'
             WHEN c.segment <= (SELECT segment FROM generations WHERE line = 'main'
                                ORDER BY number DESC LIMIT 1) THEN 'indexed'
             WHEN c.segment IS NOT NULL THEN 'embedded'
             WHEN c.decoded THEN 'decoded'
             ELSE 'seen' END AS state,
        CASE WHEN i.problem <> '' THEN i.problem ELSE COALESCE(c.problem, '') END AS reason
    FROM items AS i LEFT JOIN contents AS c ON c.id = i.content;
"""

JUDGEMENTS = """
CREATE TABLE judgements (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('label', 'click', 'ordering', 'undo')),
    undoes INTEGER REFERENCES judgements (id),
    query_kind TEXT CHECK (query_kind IN ('item', 'upload', 'text')),
    query_item INTEGER REFERENCES items (id),
    query_value TEXT,
    crop TEXT,
    value REAL NOT NULL,
    time REAL NOT NULL,
    person TEXT NOT NULL,
    source TEXT NOT NULL,
    CHECK ((kind = 'undo') = (undoes IS NOT NULL))
);
CREATE TABLE judged (
    judgement INTEGER NOT NULL REFERENCES judgements (id),
    position INTEGER NOT NULL,
    item INTEGER NOT NULL REFERENCES items (id),
    PRIMARY KEY (judgement, position)
) WITHOUT ROWID;
CREATE INDEX judged_item ON judged (item);
CREATE INDEX judgements_query ON judgements (query_item);
CREATE INDEX judgements_undoes ON judgements (undoes) WHERE undoes IS NOT NULL;
"""

MODELS = """
CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    space TEXT NOT NULL,
    file TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    card TEXT NOT NULL,
    made REAL NOT NULL
);
CREATE TABLE activations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slot TEXT NOT NULL,
    model INTEGER REFERENCES models (id),
    previous INTEGER REFERENCES activations (id),
    person TEXT NOT NULL,
    reason TEXT NOT NULL,
    time REAL NOT NULL
);
CREATE TABLE spaces (
    fingerprint TEXT PRIMARY KEY,
    file TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    card TEXT NOT NULL,
    made REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE uploads (sha256 TEXT PRIMARY KEY, size INTEGER NOT NULL, added REAL NOT NULL)
    WITHOUT ROWID;
"""

WORK = """
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')),
    wanted TEXT NOT NULL DEFAULT '',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    rate REAL NOT NULL DEFAULT 0,
    problems INTEGER NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '',
    payload TEXT NOT NULL DEFAULT '{}',
    mark TEXT NOT NULL DEFAULT '{}',
    created REAL NOT NULL, started REAL, updated REAL NOT NULL
);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    person TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'finished', 'abandoned')),
    payload TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT '{}',
    started REAL NOT NULL, ended REAL
);
CREATE TABLE rounds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (id),
    parent INTEGER REFERENCES rounds (id),
    depth INTEGER NOT NULL,
    payload TEXT NOT NULL,
    seconds TEXT NOT NULL,
    made REAL NOT NULL
);
CREATE INDEX rounds_session ON rounds (session);
"""

BOARD = """
CREATE TABLE steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (id),
    round INTEGER NOT NULL REFERENCES rounds (id),
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    seconds REAL,
    made REAL NOT NULL,
    key TEXT UNIQUE
);
CREATE INDEX steps_session ON steps (session);
"""

POSITIONS = """
ALTER TABLE judgements ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
"""

SUMS = """
ALTER TABLE segments ADD COLUMN sums BLOB NOT NULL DEFAULT x'';
CREATE TABLE set_aside (content INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE);
"""


def _counted(table: str, columns: str, only: str = "1", also: str = "") -> str:
    """Triggers that raise the counter with every row that comes, goes or is another afterwards."""
    differs = " OR ".join(f"old.{name} IS NOT new.{name}" for name in columns.split(", "))
    raised = "BEGIN UPDATE changes SET number = number + 1;" + also + " END;"
    return f"""
CREATE TRIGGER {table}_in AFTER INSERT ON {table}
    WHEN {only.format("new")} {raised.format("new")}
CREATE TRIGGER {table}_out AFTER DELETE ON {table}
    WHEN {only.format("old")} {raised.format("old")}
CREATE TRIGGER {table}_other AFTER UPDATE OF {columns} ON {table}
    WHEN {only.format("new")} AND ({differs}) {raised.format("new")}
"""


def _anew(table: str, columns: str, only: str = "1", also: str = "") -> str:
    """The same in place of the triggers that a table has."""
    names = [f"{table}_{what}" for what in ("in", "out", "other")]
    gone = "".join(f"DROP TRIGGER {name};\n" for name in names)
    return gone + _counted(table, columns, only, also)


# One number that stays the same only while what can be found stays the same.  Triggers raise it,
# so that no writer can forget to.
CHANGES = f"""
CREATE TABLE changes (number INTEGER NOT NULL);
INSERT INTO changes VALUES (0);
{_counted("items", "path, content, problem, removed")}
{_counted("contents", "segment, problem")}
{_counted("segments", "file, layout, contents")}
{_counted("generations", "line, space, segment, manifest")}
{_counted("settings", "value", "{0}.name IN ('space', 'weights', 'vocabulary', 'words_space')")}
"""

LINES = """
ALTER TABLE judgements ADD COLUMN line TEXT NOT NULL DEFAULT 'look';
"""

# A search reads what was taught, never the clicks: so many of these come in.
TAUGHT = """
CREATE INDEX judgements_told ON judgements (id) WHERE kind <> 'click';
CREATE INDEX judgements_taught ON judgements (query_item, query_value) WHERE kind = 'label';
CREATE INDEX judgements_sessions ON judgements (source) WHERE kind = 'ordering';
"""

CHECKS = """
CREATE TABLE draws (
    model INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    item INTEGER NOT NULL,
    asked TEXT NOT NULL,
    skipped INTEGER NOT NULL,
    PRIMARY KEY (model, position)
) WITHOUT ROWID;
CREATE INDEX draws_item ON draws (item);
CREATE TABLE looks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slot TEXT NOT NULL,
    since INTEGER NOT NULL,
    model INTEGER NOT NULL,
    size INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    time REAL NOT NULL
);
"""

OFFERED = """
CREATE TABLE offered (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    line TEXT NOT NULL,
    query TEXT NOT NULL,
    query_item INTEGER REFERENCES items (id) ON DELETE CASCADE,
    taught TEXT NOT NULL,
    taught_item INTEGER REFERENCES items (id) ON DELETE CASCADE,
    taken INTEGER,
    likeness REAL NOT NULL,
    person TEXT NOT NULL,
    time REAL NOT NULL
);
CREATE INDEX offered_query ON offered (query_item);
CREATE INDEX offered_taught ON offered (taught_item);
"""
# A search for words does read what was opened for those very words.
CLICKED = """
CREATE INDEX judgements_clicked ON judgements (query_value)
    WHERE kind = 'click' AND query_kind = 'text';
"""

# Engines that keep facts for filters are told which changed since; without such, nothing is logged.
_KEPT = "EXISTS (SELECT 1 FROM settings WHERE name = 'engine_tables')"
_TAGGED = (
    "INSERT INTO restated (item) SELECT id FROM items WHERE id = {0}.item OR content = {0}.content"
)
RESTATED = f"""
CREATE TABLE restated (id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL);
CREATE TRIGGER restated_items AFTER UPDATE OF path, content, size, mtime_ns ON items WHEN {_KEPT}
    BEGIN INSERT INTO restated (item) VALUES (new.id); END;
CREATE TRIGGER restated_contents AFTER UPDATE OF width, height, format, taken ON contents
    WHEN {_KEPT}
    BEGIN INSERT INTO restated (item) SELECT id FROM items WHERE content = new.id; END;
CREATE TRIGGER restated_tag_in AFTER INSERT ON texts WHEN new.kind = 'tag' AND {_KEPT}
    BEGIN {_TAGGED.format("new")}; END;
CREATE TRIGGER restated_tag_out AFTER DELETE ON texts WHEN old.kind = 'tag' AND {_KEPT}
    BEGIN {_TAGGED.format("old")}; END;
"""

# Which items the last changes were about, so that a reader looks at those only, and the number of
# the last change that was about something else.  No statement here may conflict: a trigger takes
# over how the statement that fired it meets conflicts.
KEPT = 100_000
_OLD = f" DELETE FROM touched WHERE number <= (SELECT number - {KEPT} FROM changes);"
TOUCHED = f"""
ALTER TABLE changes ADD COLUMN frame INTEGER NOT NULL DEFAULT 0;
CREATE TABLE touched (number INTEGER, item INTEGER, PRIMARY KEY (number, item)) WITHOUT ROWID;
{
    _anew(
        "items",
        "path, content, problem, removed, size, mtime_ns",
        also=" INSERT INTO touched SELECT number, {0}.id FROM changes;" + _OLD,
    )
}
{
    _anew(
        "contents",
        "segment, problem, decoded, width, height, format, taken",
        also=" INSERT INTO touched SELECT number, items.id FROM changes, items"
        " WHERE items.content = {0}.id;" + _OLD,
    )
}
{_anew("generations", "line, space, segment, manifest", also=" UPDATE changes SET frame = number;")}
{
    _anew(
        "settings",
        "value",
        "{0}.name IN ('space', 'weights', 'vocabulary', 'words_space')",
        " UPDATE changes SET frame = number;",
    )
}
"""

KEYS = """
CREATE TABLE keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    hash BLOB NOT NULL,
    made REAL NOT NULL
);
"""

# As before, but what is old of the log goes once a transaction and not with every row, and a
# content that comes is no change: no item has it yet.
_ITEMS = " INSERT INTO touched SELECT number, {0}.id FROM changes;"
_HOLDERS = " INSERT INTO touched SELECT number, id FROM changes, items WHERE content = {0}.id;"
TRIMMED = f"""
{_anew("items", "path, content, problem, removed, size, mtime_ns", also=_ITEMS)}
{_anew("contents", "segment, problem, decoded, width, height, format, taken", also=_HOLDERS)}
DROP TRIGGER contents_in;
"""
TRIM = _OLD.strip()
"""What a transaction that changes something ends with."""

STEPS: tuple[str, ...] = (
    ITEMS, TEXTS, VECTORS, JUDGEMENTS, MODELS, WORK, POSITIONS, BOARD, SUMS, CHANGES, LINES,
    TAUGHT, CHECKS, OFFERED, RESTATED, CLICKED, TOUCHED, KEYS, TRIMMED,
)  # fmt: skip

READABLE = 18
"""Steps after which a catalogue can be read as it is: later ones change how it is written."""


def version_of(db: sqlite3.Connection) -> int:
    """How many steps a catalogue has walked."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check(db: sqlite3.Connection, where: object, steps: Sequence[str] = STEPS) -> bool:
    """Whether a catalogue is up to date; raises where it is newer, or not a catalogue."""
    version, mark = version_of(db), int(db.execute("PRAGMA application_id").fetchone()[0])
    if mark != APPLICATION:
        raise DataProblem(f"{where} is not a catalogue of likewise; choose another data folder.")
    if version > len(steps):
        raise DataProblem(
            f"{where} was written by a newer likewise (version {version}, this one knows "
            f"{len(steps)}); upgrade likewise and open it again."
        )
    return version == len(steps)


def migrate(db: sqlite3.Connection, where: object, steps: Sequence[str] = STEPS) -> int:
    """Walk the steps that are missing, in one transaction; gives how many were walked."""
    empty = not db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    if empty and version_of(db) == 0:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
    check(db, where, steps)
    start = version_of(db)
    if start < len(steps):
        # executescript would commit an open transaction first, so BEGIN goes inside.
        missing = "\n".join(steps[start:])
        try:
            db.executescript(
                f"BEGIN IMMEDIATE; {missing} PRAGMA user_version = {len(steps)}; COMMIT;"
            )
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return len(steps) - start
