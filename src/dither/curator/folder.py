"""The curator's folder: the data sets that may be asked, what is declared about them, and the ledger they spend from.

::

    clinic/
      dither.yaml          where the ledger is, and what the curator allows
      datasets/visits.yaml what is declared about each data set
      data/visits/         the rows, imported when they were added, readable by the owner alone
      data/marks.jsonl     by what all rows that were ever added can be known again
      ledger.sqlite        every debit ever made

Rows belong to one data set only: the same rows under a second name would be a second budget. What is compared is what
an engine would read: files by device and inode, patterns expanded, copies by their bytes, tables as their server knows
them.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dither.curator.adding import (
    Draft,
    drafted,
    forget,
    names_with_rows,
    one_at_a_time,
    remove_copies,
    schema_of,
    show,
    waiting_schema,
    whole_or_nothing,
    write_whole,
)
from dither.curator.checking import TableCheck, check_files
from dither.curator.editions import Edition, as_read, has_same_rows, marks_of, readable
from dither.curator.governing import GoverningVerbs
from dither.curator.hour_secrets import HourSecrets
from dither.curator.html import curator_html
from dither.curator.ledger import OWNER, Ledger, open_ledger
from dither.curator.ledger.anchor import anchors_folder
from dither.curator.ledger.standing import OPEN
from dither.curator.marks import remember, remembered
from dither.curator.named_rows import refuse_beyond
from dither.curator.owners import OwnersVerbs
from dither.curator.resuming import erase_secrets
from dither.curator.same_rows import refuse_frames_twice, refuse_rows_twice
from dither.curator.session import Session
from dither.curator.shared_keys import refuse_shared_keys
from dither.curator.sharing import keep_declared, learn_declared
from dither.data.closing import Closing
from dither.data.files import dump_schema, load_schema, loads
from dither.data.importing.sources import FRAMES, is_path_in_spark, one_line
from dither.data.schema import DataSet
from dither.data.yaml_tree import LARGEST_TEXT
from dither.errors import DataSetRetired, DitherError, InvalidParameter, InvalidSchema, NotFound
from dither.exact import Number
from dither.mechanisms.core.guard import Guard
from dither.privacy import Loss, stated_loss

SETTINGS: Final = "dither.yaml"
_VERSION: Final = 1


@dataclass(frozen=True)
class Settings:
    """What ``dither.yaml`` says.

    Args:
        ledger: a path within the folder, or a PostgreSQL URL.
        allow_idealised: whether releases may be made whose proof is over the reals.
        service: how the service of this folder is set up; what it may say is the service's to check.

    """

    ledger: str = "ledger.sqlite"
    allow_idealised: bool = False
    service: Mapping[str, Any] = field(default_factory=dict)


class Curator(OwnersVerbs, GoverningVerbs, Closing):
    """An opened folder: data sets, sessions, the ledger, and what an owner decides about each data set.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "clinic"
    >>> curator = Curator.create(folder)
    >>> curator.datasets()
    ()
    """

    def __init__(self, folder: Path, settings: Settings, *, anchors: Path | None = None) -> None:
        self.folder = folder
        self.settings = settings
        self._anchors = anchors
        self._ledger: Ledger | None = None
        self._secrets: HourSecrets | None = None
        self._opening = Guard("opening the ledger")

    @classmethod
    def create(cls, folder: str | Path, *, ledger: str = "ledger.sqlite", anchors: str | Path | None = None) -> Curator:
        """Make a new folder with an empty ledger, readable by the owner alone.

        Args:
            folder: where.
            ledger: a path within the folder, or a PostgreSQL URL.
            anchors: where the ledger's anchor is kept, against restored backups; by default the user's state folder.

        """
        home = Path(folder).expanduser().resolve()
        if (home / SETTINGS).exists():
            raise InvalidParameter("folder", str(folder), f"new: {SETTINGS} already exists")
        curator = cls(home, Settings(ledger=ledger), anchors=None if anchors is None else Path(anchors))
        with whole_or_nothing(home, curator.ledger_place, curator.anchors) as made:
            curator.ledger.verify()
            made.append(curator.ledger.id)
            # The settings come last: a folder is a curator's folder once everything else is there.
            write_whole(home / SETTINGS, f"version: {_VERSION}\nledger: {ledger}\nallow idealised: false\n")
        return curator

    @classmethod
    def open(cls, folder: str | Path | None = None, *, anchors: str | Path | None = None) -> Curator:
        """Open a folder: the one given, the one in DITHER_HOME, or the nearest above the working directory."""
        home = find_folder(folder)
        return cls(home, _read_settings(home / SETTINGS), anchors=None if anchors is None else Path(anchors))

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened when first needed."""
        # Sessions of several threads share one ledger.
        with self._opening:
            if self._ledger is None:
                self._ledger = open_ledger(self.ledger_place, anchors=self._anchors)
            return self._ledger

    @property
    def ledger_place(self) -> str | Path:
        """Where the ledger is: a file, or the URL of a database."""
        place = self.settings.ledger
        return place if "://" in place else self.folder / place

    @property
    def anchors(self) -> Path:
        """The folder that remembers how far the ledger had come."""
        return anchors_folder(self._anchors)

    @property
    def _hour_secrets(self) -> HourSecrets:
        """The secrets from which the noise of releases follows that may resume."""
        if self._secrets is None:
            self._secrets = HourSecrets(self.anchors, self.ledger.id)
        return self._secrets

    def add(
        self,
        schema: str | Path | DataSet,
        *,
        budget: Loss | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        in_place: bool = False,
        is_draft: bool = False,
        within: Iterable[Path] | None = None,
    ) -> DataSet:
        """Import the rows of a data set and register it with its budget; what fails leaves nothing behind.

        Whatever this dies of, either the data set is there, or its name is free for any budget.

        A name stands for the people in the data: a newer table under the same name inherits what was spent, and takes
        the place of the rows that were imported before.

        Args:
            schema: a file, or what it says.
            budget: the loss that all releases together may have, for ever; or the three words below.
            epsilon: the budget's epsilon, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a budget in zero-concentrated differential privacy.
            in_place: whether Parquet files are read where they are, after they were checked whole, and not copied.
            is_draft: whether a new data set can only be priced until ``set_stage`` opens it.
            within: folders below which every file that is read has to be, also through links; None for anywhere.

        Raises:
            EngineUnavailable: a file is not what it should be; the message names it, with line or column and reason.
            InvalidParameter: the rows belong to another data set, a public table reads private ones of any, this one
                and its earlier editions too, the name has another budget, every row is a unit of
                its own and two tables read the same ones, or a row refers to a key of several people.

        """
        if budget is None:
            budget = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        elif any(word is not None for word in (epsilon, delta, rho)):
            raise InvalidParameter("budget", budget, "set alone, instead of epsilon, delta and rho")
        dataset = schema if isinstance(schema, DataSet) else located_schema(schema)
        # The rows, the marks and the books keep the name that a data set is registered with.
        dataset = replace(dataset, name=self.registered(dataset.name))
        text = _written(dataset)
        with one_at_a_time(self.folder):
            self._settle()
            known = self._remembered()
            earlier = self._earlier(dataset.name, known.get(dataset.name))
            with drafted(self.folder, dataset, text, earlier=earlier, in_place=in_place) as draft:
                if within is not None:
                    refuse_beyond(draft.edition, within)
                self._refuse_second_name(dataset, draft.edition, known)
                refuse_rows_twice(dataset, draft.edition)
                refuse_shared_keys(dataset, draft)
                stage = "draft" if is_draft else OPEN
                self._keep(draft, budget, str(dataset.protected), known.get(dataset.name), stage)
            keep_declared(self.ledger, dataset.name, text)
        return dataset

    def as_read(self, dataset: DataSet, given: Mapping[str, Any] | None = None) -> DataSet:
        """Return a data set with the files that its queries read as sources.

        Args:
            dataset: as it is declared.
            given: rows given as frames, by table.

        """
        return as_read(self.folder, dataset, given or ())

    def datasets(self) -> tuple[DataSet, ...]:
        """Return all registered data sets by name."""
        learn_declared(self.ledger, self.folder)
        for name in names_with_rows(self.folder):
            self._show_registered(name)
        return tuple(load_schema(path) for path in sorted((self.folder / "datasets").glob("*.yaml")))

    def dataset(self, name: str) -> DataSet:
        """Return one data set, by what it is called now; its own name is the one that it is registered with."""
        learn_declared(self.ledger, self.folder)
        registered = self.registered(name) if name.isidentifier() else name
        path = schema_of(self.folder, registered)
        if name.isidentifier():
            self._show_registered(registered)
        if not name.isidentifier() or not path.is_file():
            known = ", ".join(self.called(dataset.name) for dataset in self.datasets()) or "none yet; see 'dither add'"
            raise NotFound(f"no data set is registered as {name[:64]!r}; there are: {known}")
        return load_schema(path)

    def session(self, dataset: str, *, analyst: str = OWNER, frames: Mapping[str, Any] | None = None) -> Session:
        """Return a session in which ``analyst`` asks about a data set.

        Args:
            dataset: its name.
            analyst: on whose quota the session spends; the curator alone may compare with real rows.
            frames: rows given as pandas, Polars or Arrow objects instead of the declared sources, by table.

        """
        declared = self.dataset(dataset)
        names = [table.name for table in declared.tables]
        for name in frames or {}:
            if name not in names:
                raise InvalidParameter("frames", name, f"rows of one of {', '.join(names)}")
        refuse_frames_twice(declared, frames or {})
        if self.standing(declared.name).is_retired:
            raise DataSetRetired(dataset)
        return Session(self, declared, analyst=analyst, frames=frames, called=dataset)

    def check(self, dataset: str) -> tuple[TableCheck, ...]:
        """Return whether the files of a data set still fit its schema, table by table. NOT PRIVATE: for its owner.

        Which cells are not of their kind, which values lie outside bounds and categories, which rows have no id, and
        whether the file has changed since it was added. Nothing is charged because nothing here may be published.

        Args:
            dataset: what it is called.

        """
        return check_files(self.folder, self.dataset(dataset))

    def __repr__(self) -> str:
        return f"<Curator of {self.folder}>"

    def _repr_html_(self) -> str:
        return curator_html(self)

    def erase_secrets(self) -> None:
        """Erase the secrets of earlier hours that no unanswered request needs; a server does this every few minutes."""
        if self.ledger.is_durable:
            with suppress(DitherError):
                erase_secrets(self._hour_secrets, self.ledger)

    def close(self) -> None:
        """Close the ledger."""
        if self._ledger is not None:
            self.erase_secrets()
            self._ledger.close()
            self._ledger = None

    def _remove_rows(self, name: str) -> None:
        with one_at_a_time(self.folder):
            remove_copies(self.folder, name)

    def _keep(self, draft: Draft, budget: Loss, unit: str, known: set[str] | None, stage: str) -> None:
        """Put a draft in place and register it; see ``adding`` for the order and for what holds if this ends midway."""
        name, is_new = draft.dataset, draft.dataset not in self.ledger.datasets()
        if not is_new:
            self.ledger.register(name, budget=budget, unit=unit)
            if not has_same_rows(readable(self.folder, name, known), draft.edition):
                # Before the rows: that an answer is about rows of before is said too often rather than too seldom.
                self.ledger.begin_edition(name)
        marks = set(draft.edition.lasting)
        if is_new or known is None or marks - known:
            is_first = is_new and not schema_of(self.folder, name).exists()
            remember(self.folder, name, marks - (known or set()), is_first=is_first)
        try:
            draft.keep()
            self.ledger.register(name, budget=budget, unit=unit, stage=stage)
        except BaseException:
            with suppress(DitherError, OSError):
                self._settle()
            raise
        show(self.folder, name)

    def _settle(self) -> None:
        """Finish what an add left behind that has its budget, and remove what has none."""
        registered = self.ledger.datasets()
        for name in names_with_rows(self.folder):
            if name not in registered:
                forget(self.folder, name)
            else:
                self._show_registered(name)

    def _show_registered(self, name: str) -> None:
        """Let a data set be found that an add registered, and then died."""
        waiting = waiting_schema(self.folder, name)
        with suppress(OSError, InvalidSchema):  # somebody else was faster, or the folder cannot be written to
            if waiting is None or name not in self.ledger.datasets():
                return
            # A ledger may serve several folders: the name must be that of this data set.
            if self.ledger.balance(name).unit == str(load_schema(waiting).protected):
                show(self.folder, name)

    def _remembered(self) -> dict[str, set[str]]:
        """Return by what the rows of each data set that is there are known, and write down what was not yet."""
        registered = {*self.ledger.datasets(), *(dataset.name for dataset in self.datasets())}
        known = {name: marks for name, marks in remembered(self.folder).items() if name in registered}
        for name in sorted(registered):
            edition = readable(self.folder, name, known.get(name))
            if edition is not None and not known.get(name, set()).issuperset(edition.lasting):
                remember(self.folder, name, edition.lasting, is_first=False)
                known[name] = known.get(name, set()).union(edition.lasting)
        return known

    def _earlier(self, name: str, known: set[str] | None) -> set[str]:
        """Return by what the rows of all editions before of a name can be known."""
        edition = readable(self.folder, name, known)
        return set(known or ()).union(edition.lasting if edition is not None else ())

    def _refuse_second_name(self, dataset: DataSet, edition: Edition, known: Mapping[str, set[str]]) -> None:
        """Refuse private rows of another data set, and private rows of any, this one too, that are declared public."""
        # Also of data sets whose schema is gone: they were answered about.
        others = dict(known)
        for other in self.datasets():
            others[other.name] = marks_of(self.folder, other, known.get(other.name))
        # Those of this edition as well: one file cannot be private in one table and public in another.
        others[dataset.name] = others.get(dataset.name, set()) | edition.marks
        for name, marks in others.items():
            for table in dataset.tables:
                # By what was read and what it became: other line ends, or a blank line at the end, make no other rows.
                if edition.tables[table.name].marks.isdisjoint(marks):
                    continue
                called = self.called(name)
                owner = f"it belongs to the data set {called}, whose budget covers the same people"
                if table.is_public:
                    rule = f"no private rows where the table is public: {owner}; public rows are joined exactly"
                    raise InvalidParameter("source", table.source, rule)
                if name != dataset.name:
                    raise InvalidParameter("source", table.source, f"registered once: {owner}; add it as {called}")


def open_curator(folder: str | Path | None = None) -> Curator:
    """Open a curator's folder: the one given, the one in DITHER_HOME, or the nearest above the working directory."""
    return Curator.open(folder)


def located_schema(path: str | Path) -> DataSet:
    """Return what a schema file declares, with paths of this machine made absolute."""
    return _located(load_schema(Path(path)), Path(path))


def _written(dataset: DataSet) -> str:
    """Return what is public about a data set as the text of its file, or refuse one that could not be read again."""
    text = dump_schema(dataset)
    if len(text.encode()) > LARGEST_TEXT:
        most = max((len(column.categories or ()), column.name) for table in dataset.tables for column in table.columns)
        rule = f"at most {LARGEST_TEXT} bytes long as a file; {most[1]} has {most[0]} categories, declare fewer"
        raise InvalidParameter("schema", f"{len(text)} characters", rule)
    # The names of files need not be UTF-8: one schema that cannot be read hides all that are beside it.
    is_readable = False
    with suppress(InvalidSchema):
        is_readable = bool(loads(text))
    if not is_readable:
        rule = "made of text that a file can hold; rename a source whose name is not UTF-8, and correct descriptions"
        raise InvalidParameter("schema", dataset.name, rule)
    return text


def _located(dataset: DataSet, schema: Path) -> DataSet:
    """Return the data set with paths of this machine made absolute: relative ones start where the schema is."""
    base = schema.expanduser().resolve().parent
    is_duckdb, is_spark = (dataset.engine.startswith(scheme) for scheme in ("duckdb", "spark"))
    tables = []
    for table in dataset.tables:
        is_path = is_duckdb or (is_spark and "://" not in table.source and is_path_in_spark(table.source))
        if is_path and table.source != FRAMES:
            table = replace(table, source="\n".join(_absolute(base, one) for one in table.sources))
        tables.append(table)
    return replace(dataset, tables=tuple(tables))


def _absolute(base: Path, source: str) -> str:
    found = str((base / source).resolve())
    if not one_line(found):
        raise InvalidParameter("source", found, "a path without line breaks: rename the file or folder")
    return found + ("/" if source.endswith("/") else "")


def find_folder(folder: str | Path | None) -> Path:
    """Return the curator's folder: the one given, the one in DITHER_HOME, or the nearest above; nothing is opened."""
    given = folder if folder is not None else os.environ.get("DITHER_HOME")
    if given is not None:
        home = Path(given).expanduser().resolve()
        if (home / SETTINGS).is_file():
            return home
        raise NotFound(f"{str(given)!r} is no curator's folder: it has no {SETTINGS}; 'dither init DIR' makes one")
    here = Path.cwd()
    for home in (here, *here.parents):
        if (home / SETTINGS).is_file():
            return home
    fix = "'dither init DIR' makes one, --home or DITHER_HOME names one"
    known = (*here.glob(f"*/{SETTINGS}"), *here.glob(f"*/home/{SETTINGS}"))
    below = sorted(str(found.parent.relative_to(here)) for found in known)
    raise NotFound(f"no curator's folder here or above: {fix}{f', such as --home {below[0]}' if below else ''}")


def _read_settings(path: Path) -> Settings:
    import yaml

    try:
        record = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        raise InvalidParameter("settings", str(path), "readable YAML") from None
    known = ("version", "ledger", "allow idealised", "service")
    if not isinstance(record, dict) or record.get("version") != _VERSION:
        raise InvalidParameter("settings", record, f"version {_VERSION} with {', '.join(sorted(known))}")
    for name in sorted(str(name) for name in record if name not in known):
        near = difflib.get_close_matches(name, known, 1)
        fix = f"remove it, or write {near[0]!r}" if near else "remove it"
        raise InvalidParameter("settings", name, f"made of {', '.join(known)}: {fix}")
    ledger, allowed = record.get("ledger", Settings.ledger), record.get("allow idealised", False)
    service = record.get("service", {})
    if not isinstance(ledger, str):
        raise InvalidParameter("settings.ledger", ledger, "the place of a ledger, such as ledger.db")
    if not isinstance(allowed, bool):
        raise InvalidParameter("settings.allow idealised", allowed, "true or false")
    if not isinstance(service, dict):
        raise InvalidParameter("settings.service", service, "settings by name, such as 'port: 8077', or omitted")
    return Settings(ledger, allowed, service)
