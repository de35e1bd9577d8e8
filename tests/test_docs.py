"""The docs cannot drift: what is public is documented, what is shown runs, links lead somewhere."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from PIL import Image

import likewise
from likewise.cli import app
from likewise.learners import SIMILARITIES
from likewise.spaces import SPACES

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}
ALL = "\n".join(TEXT.values())


def public_names() -> list[str]:
    names = []
    for info in pkgutil.iter_modules(likewise.__path__):
        if info.ispkg:
            module = importlib.import_module(f"likewise.{info.name}")
            names += [f"{info.name}.{name}" for name in getattr(module, "__all__", ())]
    return names


@pytest.mark.parametrize("kind", sorted(SIMILARITIES))
def test_every_similarity_is_documented(kind):
    assert f"`{kind}`" in TEXT[ROOT / "docs" / "concepts.md"]


def commands() -> list[tuple[str, object]]:
    group = typer.main.get_command(app)
    found = []
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append((name, command))
        else:
            found += [(f"{name} {sub}", c) for sub, c in inner.items()]
    return found


@pytest.mark.parametrize(("name", "command"), commands(), ids=[n for n, _ in commands()])
def test_every_command_is_documented_with_an_example_and_json(name, command):
    assert f"`likewise {name}" in TEXT[ROOT / "docs" / "cli.md"]
    assert f"Example: likewise {name}" in command.help
    options = {option for p in command.params for option in p.opts}
    assert "--json" in options
    assert all(getattr(p, "help", None) for p in command.params if p.name != "help")


@pytest.mark.parametrize("kind", sorted(SPACES))
def test_every_space_is_documented(kind):
    assert f"`{kind}`" in TEXT[ROOT / "docs" / "concepts.md"]


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_a_docstring(name):
    room, attribute = name.split(".")
    thing = getattr(importlib.import_module(f"likewise.{room}"), attribute)
    if callable(thing):
        assert (thing.__doc__ or "").strip(), f"likewise.{name} has no docstring"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXT[page]):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}, which is not there"
        if anchor and file.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in slugs, f"{page.name} links to {target}: no such heading"


def blocks() -> list[tuple[str, str]]:
    out = []
    for page, text in TEXT.items():
        code = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        if code:
            out.append((str(page.relative_to(ROOT)), "\n".join(code)))
    return out


@pytest.mark.parametrize(("page", "code"), blocks(), ids=[page for page, _ in blocks()])
def test_python_on_a_page_runs_from_top_to_bottom(page, code, tmp_path):
    (tmp_path / "Pictures").mkdir()  # the folder that examples speak of
    for at, name in enumerate(("beach", "sea", "city", "dog")):
        Image.new("RGB", (40, 30), (50 * at, 90, 200 - 40 * at)).save(
            tmp_path / "Pictures" / f"{name}.jpg"
        )
    (tmp_path / "page.py").write_text(code, encoding="utf-8")  # children import it by name
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", ["experiments", "benchmarks"])
def test_every_experiment_and_benchmark_is_named_in_the_docs(folder):
    for file in (ROOT / folder).glob("[a-z]*.py"):
        if re.search(r"^def main\(report", file.read_text(encoding="utf-8"), re.M):
            assert f"{folder}.{file.stem}" in ALL, f"no page names {folder}.{file.stem}"


@pytest.mark.parametrize("page", ["kuang", "top-precision", "visual-words", "target-search"])
def test_a_papers_page_ends_with_what_is_in_reach_by_what(page):
    text = TEXT[ROOT / "docs" / f"{page}.md"].rstrip()
    table = text.rpartition("\n\n")[2].splitlines()
    assert table[0] == "| in the paper | here | in reach by |"
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table[2:]]
    assert len(cells) >= 4
    assert all(len(row) == 3 and all(row) for row in cells)


def test_readme_has_exactly_two_setup_commands():
    readme = TEXT[ROOT / "README.md"]
    commands = re.findall(r"^    (scripts/\w+)", readme, re.M)
    assert commands == ["scripts/demo", "scripts/test"]


def test_the_house_page_names_files_that_are_there():
    text = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(likewise/[\w/]+\.py)`", text))
    assert len(named) > 30
    assert not [name for name in named if not (ROOT / name).is_file()]
