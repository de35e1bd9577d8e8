"""Target search from the command line: begin, go on, finish, look at old ones, simulate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.common import Said, item_or_file, progress_bar, table, verb
from likewise.types import BadInput

if TYPE_CHECKING:
    from likewise.collection import Collection

app = typer.Typer(no_args_is_help=True, help="Look for one picture by arranging pictures.")

Shown = Annotated[int, typer.Option("-n", help="Pictures a round.")]


@app.command("start")
@verb(write=True)
def start(
    collection: Collection,
    picture: Annotated[str, typer.Argument(help="An item or file to begin from.")] = "",
    text: Annotated[str, typer.Option("--text", "-t", help="Words to begin from.")] = "",
    random: Annotated[bool, typer.Option("--random", help="Begin with a random hundred.")] = False,
    shown: Shown = 20,
    way: Annotated[
        str, typer.Option(help="paper: show the nearest by the order of the last round.")
    ] = "ours",
    orders: Annotated[
        str | None, typer.Option(help="Orders that teach; all, in the paper the latest.")
    ] = None,
    layout: Annotated[
        str, typer.Option(help="Give places too: board, or grid where nothing covers another.")
    ] = "none",
    person: Annotated[str, typer.Option(help="Who searches.")] = "",
) -> Said:
    """Begin a target search and print its first board.

    Example: likewise session start --text "beach" -n 20
    """
    from likewise.session import Settings

    search = collection.targets.start(
        picture=item_or_file(picture) if picture else None,
        text=text,
        random=random,
        settings=Settings.by(way, orders, shown=shown, layout=layout),
        person=person,
    )
    return _shown(collection, search)


@app.command("next")
@verb(write=True)
def next_(
    collection: Collection,
    session: Annotated[int, typer.Argument(help="Its number.")],
    query: Annotated[
        int | None, typer.Option("--query", "-q", help="The item closest to what you look for.")
    ] = None,
    close: Annotated[
        str, typer.Option("--close", help="The next closest to it, nearest first, with commas.")
    ] = "",
    order: Annotated[
        str, typer.Option("--order", "-o", help="Items from nearest to farthest, with commas.")
    ] = "",
    discard: Annotated[
        str, typer.Option("--discard", "-x", help="Items that are far off, with commas.")
    ] = "",
    pin: Annotated[
        str, typer.Option("--pin", "-p", help="Items to keep on the board, with commas.")
    ] = "",
    round: Annotated[
        int | None,
        typer.Option("--round", "-r", help="Go on from this round (undo, branch), not the last."),
    ] = None,
    another: Annotated[
        bool, typer.Option("--another", help="Only show another hundred pictures at random.")
    ] = False,
) -> Said:
    """Say which picture is closest and how others compare; print the next board.

    Example: likewise session next 3 -q 120 -o 77,15,9
    """
    moved, discarded, pinned = _numbers(order), _numbers(discard), _numbers(pin)
    if another and (query is not None or close or moved or discarded or pinned):
        raise BadInput("--another takes no query and no moves; it shows a hundred at random.")
    search = collection.targets.resume(session, round)
    if another:
        search.another_hundred()
    else:
        from likewise.session.draft import closest_first

        board, named = search.board, _numbers(close)
        told = closest_first(named, [i for i in (*board.shown, board.query) if i and i != query])
        if len(told) < len(named):
            raise BadInput("Only pictures of the board, beside the closest, can be close to it.")
        search.next(query=query, moved=moved, discarded=discarded, pinned=pinned, closer=told)
    return _shown(collection, search)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadInput("Write items as numbers with commas, for instance 77,15,9.") from None


@app.command("finish")
@verb(write=True)
def finish(
    collection: Collection,
    session: Annotated[int, typer.Argument(help="Its number.")],
    found: Annotated[
        int | None, typer.Option(help="The item that was looked for; given up if none.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Let later sessions and models learn from it.")
    ] = False,
) -> Said:
    """End a session: found, or given up.

    Example: likewise session finish 3 --found 120 --keep
    """
    search = collection.targets.resume(session)
    if found is None:
        search.give_up(keep=keep)
    else:
        search.found(found, keep=keep)
    written = collection.targets.teach_others(search) if keep else 0
    over = f"Session {session} is over" + (f"; {written} orderings kept." if keep else ".")
    return Said({"session": session, "found": found, "kept": keep, "orderings": written}, over)


def _shown(collection: Collection, search: Any) -> Said:
    board = search.board
    items = {i.id: i.file for i in collection.items.many(board.shown)}
    value = {name: getattr(board, name) for name in ("session", "round", "query", "words", "left")}
    value["shown"] = [{"item": i, "file": items.get(i, "")} for i in board.shown]
    for one, place in zip(value["shown"], board.positions):
        one["place"] = [round(at, 4) for at in place]
    value |= {"shares": dict(board.shares), "notes": list(board.notes)}
    lines = [
        f"Session {board.session}, round {board.depth + 1}: {board.left:,} not shown yet.",
        table(["item", "file"], [[i, items.get(i, "")] for i in board.shown]),
        f"The metric listens to {board.words}." if board.words else "",
        *board.notes,
        f"Go on: likewise session next {board.session} -q CLOSEST --close SECOND,THIRD   "
        f"End: likewise session finish {board.session} --found ITEM",
    ]
    return Said(value, "\n".join(lines))


@app.command("list")
@verb()
def list_(collection: Collection) -> Said:
    """List target searches, the newest first.

    Example: likewise session list
    """
    found = collection.sessions.all()
    value = [{"id": s.id, "state": s.state, "person": s.person, "started": s.started,
              "outcome": dict(s.outcome)} for s in found]  # fmt: skip
    rows = [
        [s.id, s.state, s.person, time.strftime("%Y-%m-%d %H:%M", time.localtime(s.started))]
        for s in found
    ]
    return Said(value, table(["", "state", "person", "started"], rows))


@app.command("show")
@verb()
def show(
    collection: Collection,
    session: Annotated[int, typer.Argument(help="Its number.")],
    times: Annotated[
        Path | None, typer.Option(help="Write the seconds of each step as CSV.")
    ] = None,
) -> Said:
    """Show the rounds of a session.

    Example: likewise session show 3 --times steps.csv
    """
    import csv

    collection.sessions.get(session)
    rounds = collection.sessions.rounds(session)
    if times is not None:
        with open(times, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["round", "step", "seconds"])
            writer.writerows((r.id, step, s) for r in rounds for step, s in r.seconds.items())
    value = [{"round": r.id, "parent": r.parent, "payload": dict(r.payload),
              "seconds": dict(r.seconds)} for r in rounds]  # fmt: skip
    rows = [
        [r.id, r.parent or "", r.payload.get("query") or "", len(r.payload.get("shown", ())),
         f"{sum(r.seconds.values()) * 1e3:.0f} ms"]
        for r in rounds
    ]  # fmt: skip
    return Said(value, table(["round", "after", "query", "shown", "took"], rows))


@app.command("simulate")
@verb()
def simulate(
    collection: Collection,
    sessions: Annotated[int, typer.Option(help="How many searches.")] = 50,
    shown: Shown = 20,
    mistakes: Annotated[float, typer.Option(help="Share of mistaken choices.")] = 0.0,
    jitter: Annotated[float, typer.Option(help="Noise of the orders; 0 is a perfect order.")] = 0.0,
    moves: Annotated[
        int | None, typer.Option(help="Pictures put in order a round; all of them unless given.")
    ] = None,
    block: Annotated[str, typer.Option(help="The block that the simulated person judges by.")] = "",
    rounds: Annotated[int, typer.Option(help="Most rounds.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
) -> Said:
    """Let a simulated person search this collection; print the share found by each round.

    Example: likewise session simulate --block colour --mistakes 0.3
    """
    from likewise.evaluation.users import SimulatedUser, share_found
    from likewise.session import Settings
    from likewise.session import simulate as run

    with progress_bar("Searching", "searches") as tell:
        holdings = collection.targets.holdings()
        person = SimulatedUser(
            _judged_by(holdings, block), mistakes=mistakes, jitter=jitter, moves=moves
        )
        found = run(
            holdings, person, settings=Settings(shown=shown), sessions=sessions, most=rounds,
            progress=tell, seed=seed,
        )  # fmt: skip
    rows = [(by, *share_found(found.rounds, by)) for by in range(1, rounds + 1)]
    cells = [[by, f"{f:.2f}", f"{lo:.2f} - {hi:.2f}"] for by, f, lo, hi in rows]
    value = [dict(zip(("round", "found", "low", "high"), row)) for row in rows]
    return Said(value, table(["round", "found", "95 %"], cells))


def _judged_by(holdings: Any, block: str) -> Any:
    """What the simulated person sees."""
    blocks = {"": slice(None), **holdings.blocks}
    if block not in blocks:
        known = ", ".join(holdings.blocks)
        raise BadInput(f"This collection has no block {block!r}; it has {known}.")
    return holdings.vectors[:, blocks[block]]
