"""The single record of what is true: catalogue, vector segments, generations, models, jobs."""

from likewise.store.backup import backup, restore
from likewise.store.checks import Check
from likewise.store.contents import Pending, Result
from likewise.store.doctor import Fact, doctor
from likewise.store.filters import STATES
from likewise.store.forget import Forgotten
from likewise.store.generations import CHANGE, THINNED, Generation
from likewise.store.items import NO_FILE, Comparison, Item, Seen
from likewise.store.jobs import Job
from likewise.store.judgement_log import Record, Said, query_name
from likewise.store.looks import Drawn
from likewise.store.models import Activation, Model
from likewise.store.paths import as_file, as_key, printable
from likewise.store.store import Store
from likewise.store.texts import Described, Text
from likewise.store.verify import Finding, verify

__all__ = [
    "CHANGE", "NO_FILE", "STATES", "THINNED", "Activation", "Check", "Comparison", "Described",
    "Drawn", "Fact", "Finding", "Forgotten", "Generation", "Item", "Job", "Model", "Pending",
    "Record", "Result", "Said", "Seen", "Store", "Text", "as_file", "as_key", "backup", "doctor",
    "printable", "query_name", "restore", "verify",
]  # fmt: skip
