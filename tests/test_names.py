"""One name per thing: options of a search in Python, over HTTP and on the command line."""

from __future__ import annotations

import inspect
from dataclasses import fields

import typer.main

from likewise.cli import app
from likewise.collection import Collection, Filter, Options
from likewise.collection.learn.check import Check, Checking
from likewise.server.routes.models import CheckIn, CheckOut
from likewise.server.schemas import FilterIn, SearchIn

QUERY = {"pictures", "text", "without", "weights", "crop", "vector", "line"}
OWN = {"where", "data", "as_json", "sheet", "open_"}
"""What only the command line has: where, and what to do with the answer."""


def cli_options() -> list:
    return typer.main.get_command(app).commands["search"].params


def test_a_search_has_one_name_per_thing():
    options = {f.name for f in fields(Options)}
    filters = {f.name for f in fields(Filter)}
    python = set(inspect.signature(Collection.search).parameters) - {"self", "options"}
    assert python == QUERY
    assert set(SearchIn.model_fields) == options | {"examples", "text", "line", "generation"}
    assert set(FilterIn.model_fields) <= filters
    named = {option.name for option in cli_options()}
    assert named == (options - {"filter"}) | (QUERY - {"vector"}) | set(FilterIn.model_fields) | OWN


def test_defaults_agree():
    by_name = {f.name: f.default for f in fields(Options) if f.name not in ("filter", "model")}
    for name, field in SearchIn.model_fields.items():
        assert field.default == by_name.get(name, field.default), name
    for option in cli_options():
        wanted = by_name.get(option.name, option.default)
        assert option.default == (None if wanted == () else wanted), option.name


def test_a_check_has_one_name_per_thing():
    python = set(inspect.signature(Checking.check).parameters) - {"self"}
    assert {*CheckIn.model_fields, "model"} == python
    command = typer.main.get_command(app).commands["models"].commands["check"]
    assert {option.name for option in command.params} == python | (
        OWN & {"where", "data", "as_json"}
    )
    assert {f.name for f in fields(Check)} == set(CheckOut.model_fields)
