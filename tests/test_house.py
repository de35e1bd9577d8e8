"""The direction of imports: an arrow that points up or sideways fails here."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import likewise

PACKAGE = Path(__file__).resolve().parent.parent / "likewise"
ROOMS = [
    {"filters", "later"},
    {"types", "solvers"},
    {"spaces", "open_files"},
    {"files"},
    {"features", "judgements", "learners", "index", "store", "layout", "evaluation", "datasets"},
    {"intake", "session"},
    {"collection"},
    {"server"},
    {"cli"},  # above the server, because `serve` starts it
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
HEAVY = {
    "faiss": {"solvers/kmeans.py", "index/faiss.py", "index/tree.py", "features/words.py"},
    "onnxruntime": {"features"},
    "onnx": {"features"},
    "tokenizers": {"features/clip.py"},
    "fastapi": {"server"},
    "uvicorn": {"server"},
    "starlette": {"server"},
    "typer": {"cli"},
    "psycopg": {"index/postgres.py"},
    "pymilvus": {"index/milvus.py"},
}


NAMES_METHODS = {
    "collection/learn/methods.py",
    "features/onnx_file.py",  # a way of scaling pictures that has a method's name
}


def files() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem != "__main__")


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Full dotted names that a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; write the full name"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def arrows() -> list[tuple[Path, str]]:
    """Every import of one room by a file of another."""
    out = []
    for path in files():
        own = room_of(path)
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == "likewise" and len(parts) > 1 and parts[1] != own:
                out.append((path, parts[1]))
    return out


def test_every_room_has_a_level():
    rooms = {room_of(p) for p in files()} - {"__init__"}
    assert rooms <= set(LEVEL), f"give {rooms - set(LEVEL)} a level"


def test_imports_point_down():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {target}"
        for path, target in arrows()
        if room_of(path) != "__init__" and target in LEVEL
        if LEVEL[target] >= LEVEL[room_of(path)]
    ]
    assert not wrong, "these arrows point up or sideways:\n" + "\n".join(wrong)


def test_solvers_import_nothing_of_ours():
    for path in (PACKAGE / "solvers").rglob("*.py"):
        # likewise.later stands for libraries of others.
        ours = {n for n in imported(path) if n.startswith("likewise.")}
        assert all(n.startswith(("likewise.solvers", "likewise.later")) for n in ours), path


def test_the_outside_is_never_imported():
    for path in files():
        assert not {n.split(".")[0] for n in imported(path)} & {
            "experiments",
            "benchmarks",
            "tests",
        }


def test_the_package_holds_nothing_that_only_outsiders_use():
    """A file is imported by another one, or stands in the registry of its room."""
    names = {name for path in files() for name in imported(path)}
    used = names | {name.rpartition(".")[0] for name in names}
    for path in files():
        inside = path.relative_to(PACKAGE.parent).with_suffix("")
        module = ".".join(inside.parts)
        places = (path.parent / "__init__.py", PACKAGE / "collection" / "learn" / "methods.py")
        nodes = [n for p in places for n in ast.walk(ast.parse(p.read_text(encoding="utf-8")))]
        listed = {str(n.value).split(":")[0] for n in nodes if isinstance(n, ast.Constant)}
        if path.stem != "__init__" and module not in used:
            assert {module, path.stem} & listed, f"nothing in the package uses {module}"


@pytest.mark.parametrize("library", sorted(HEAVY))
def test_heavy_libraries_stay_in_the_files_that_own_them(library):
    for path in files():
        if library in {n.split(".")[0] for n in imported(path)}:
            where = path.relative_to(PACKAGE).as_posix()
            owners = HEAVY[library]
            assert where in owners or where.split("/")[0].removesuffix(".py") in owners, where


def test_methods_are_named_where_they_are_declared():
    """Everywhere else they come from the declarations, so that a new one is in all places."""
    from likewise.collection.learn.methods import OWN

    names, wrong = {method.name for method in OWN}, []
    for path in files():
        where = path.relative_to(PACKAGE).as_posix()
        if where.startswith("learners/") or where in NAMES_METHODS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong += [
            f"{where}:{node.lineno} {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and node.value in names
        ]
    assert not wrong, "\n".join(wrong)


def test_files_hold_one_idea():
    long = {str(p): n for p in files() if (n := len(p.read_text().splitlines())) > 500}
    assert not long, f"split these: {long}"


def test_a_search_starts_without_what_only_other_work_needs(tmp_path):
    """What is imported before the first answer is what a person waits for."""
    program = (
        "import sys\n"
        "from likewise.cli import app\n"
        "try:\n"
        "    app(['status', '-c', sys.argv[1]])\n"
        "finally:\n"
        "    print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    (tmp_path / "pictures").mkdir()
    with likewise.open(tmp_path / "pictures", create=True):
        pass
    command = [sys.executable, "-c", program, str(tmp_path / "pictures")]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    loaded = set(done.stderr.split())
    assert "likewise" in loaded, done.stderr
    late = {"cv2", "fastapi", "matplotlib", "onnxruntime", "pandas", "pyarrow", "sklearn"}
    assert not loaded & (late | {"PIL", "joblib", "numba", "rich", "scipy", "snowballstemmer"})


def test_help_comes_without_the_collection():
    program = (
        "import sys\n"
        "from likewise.cli import app\n"
        "try:\n"
        "    app(['--help'])\n"
        "finally:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PACKAGE.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "duplicates" in done.stdout
    loaded = set(done.stderr.split())
    libraries = {"PIL", "faiss", "numba", "pydantic", "rich", "scipy", "sklearn"}
    ours = {"likewise.store", "likewise.collection.collection", "likewise.collection.search"}
    assert "likewise.cli.pictures" in loaded
    assert not loaded & (libraries | ours)


def test_a_server_starts_without_what_few_calls_need():
    program = "import sys, likewise.server.app\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PACKAGE.parent, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    late = {"cv2", "matplotlib", "numba", "onnxruntime", "pandas", "pyarrow", "rawpy", "scipy"}
    assert not set(done.stdout.split()) & (late | {"sklearn", "snowballstemmer"})


def trees(*rooms: str) -> list[tuple[Path, ast.AST]]:
    """Syntax trees of the files of some rooms (of all where none is named)."""
    return [
        (path, ast.parse(path.read_text(encoding="utf-8")))
        for path in files()
        if not rooms or room_of(path) in rooms
    ]


def test_what_stands_above_the_collection_never_sees_the_store():
    wrong = []
    for path, tree in trees("cli", "server", "session"):
        seen = any(isinstance(n, ast.Attribute) and n.attr == "store" for n in ast.walk(tree))
        if seen or any(name.startswith("likewise.store") for name in imported(path)):
            wrong.append(str(path.relative_to(PACKAGE)))
    assert not wrong, "ask the collection instead: " + ", ".join(wrong)


SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|PRAGMA|CREATE TABLE)\s+[A-Za-z]")


def test_sql_stays_in_the_store():
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in trees()
        if room_of(path) != "store" and path.name != "postgres.py"  # another database
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    ]
    assert not wrong, f"these belong into the store: {wrong}"


@pytest.mark.parametrize("room", ["collection", "intake", "session"])
def test_a_folder_can_be_kept_in_the_head(room):
    for folder in {path.parent for path in files() if room_of(path) == room}:
        own = [p for p in folder.glob("*.py") if p.stem != "__init__"]
        lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in own)
        assert len(own) <= 13, f"{folder.name} has {len(own)} files; make a room of some"
        assert lines <= 2_200, f"{folder.name} has {lines:,} lines; make a room of some"
