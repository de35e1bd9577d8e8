"""Labels, clicks and orderings: records, import and export, and the preferences they mean."""

from likewise.judgements.click_table import ClickReport, ClickTable, click_table
from likewise.judgements.exchange import ImportResult, Problem
from likewise.judgements.files import read_judgements, write_judgements
from likewise.judgements.preferences import PreferenceReport, from_clicks, preferences
from likewise.judgements.records import Judgements, Resolved
from likewise.judgements.ubi import read_ubi, write_ubi

__all__ = [
    "ClickReport", "ClickTable", "ImportResult", "Judgements", "PreferenceReport", "Problem",
    "Resolved", "click_table", "from_clicks", "preferences", "read_judgements", "read_ubi",
    "write_judgements", "write_ubi",
]  # fmt: skip
