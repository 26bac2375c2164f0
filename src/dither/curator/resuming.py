"""How a release killed after its draw resumes: with the same noise, if all that decides the answer is as it was.

The noise of such a release follows from the secret of the hour, the debit and the *context*: the request, the
declaration, the edition and bytes of the imported rows, the mechanism, and the versions of everything that computes.
The entry of the draw has a keyed digest of the context, its proof. Whoever comes back computes the context anew, with
the files read again; if the proof is the same, the same words are drawn, and otherwise the request is sealed.
docs/theory/ledger.md has the proof that this is one draw.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import importlib
import json
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dither
from dither.curator.editions import current
from dither.curator.ledger.interface import Ledger, Reservation
from dither.curator.timing_gate import draws_first
from dither.data.engines import release_of
from dither.data.files import dump_schema
from dither.data.schema import DataSet
from dither.errors import DitherError, LedgerUnavailable
from dither.lift.resumable import may_resume
from dither.mechanisms.core.derived_runner import derived_key
from dither.mechanisms.core.spec import digest

if TYPE_CHECKING:
    from dither.curator.access import Run
    from dither.curator.folder import Curator
    from dither.curator.hour_secrets import HourSecrets

_VERSION: Final = 1
_PURPOSE: Final = "a release that may resume"
#: Whatever may compute a bit of an answer, but for the package and the engine.
_LIBRARIES: Final = ("numpy", "scipy", "sqlglot", "pyarrow", "cryptography")


def can_resume(curator: Curator, dataset: DataSet, frames: Mapping[str, Any] | None, run: Run) -> bool:
    """Whether a release may resume where its process is killed: by public facts alone.

    Args:
        curator: whose folder has the rows.
        dataset: as it is declared.
        frames: rows that are given, which nothing tells from others.
        run: what would be done.

    """
    is_imported = frames is None and dataset.engine.startswith("duckdb") and curator.ledger.is_durable
    # Under strict times what is not ready in time is never stored, and a second attempt would be a second measurement.
    return is_imported and not draws_first() and run.is_performed and may_resume(run.mechanism)


class ResumableNoise:
    """The key of one release's noise, and the proof by which it is known again.

    Args:
        curator: whose folder has the rows.
        dataset: as it is declared.
        run: what is done.

    """

    def __init__(self, curator: Curator, dataset: DataSet, run: Run) -> None:
        self._curator, self._dataset, self._run = curator, dataset, run
        self._secrets: HourSecrets = curator._hour_secrets

    def fresh(self, held: Reservation) -> tuple[bytes, str] | None:
        """Return the key of a new draw, and its proof; None where the draw could not be resumed."""
        try:
            context = self._context(_imported(self._curator.folder, self._dataset.name))
            if context is None:
                return None
            hour, secret = self._secrets.current()
        except (OSError, DitherError):
            return None
        ledger = self._curator.ledger
        return _key(secret, ledger, held, context), f"{hour}:{_proof(secret, ledger, held, context)}"

    def again(self, held: Reservation) -> bytes | None:
        """Return the key of the draw that a reservation resumes; None where anything is not as it was."""
        try:
            hour, _, proof = held.proof.partition(":")
            secret, ledger = self._secrets.of(int(hour)), self._curator.ledger
            files = _imported(self._curator.folder, self._dataset.name, is_read=True)
            context = self._context(files)
            if secret is None or context is None or not self._is_same_edition(held):
                return None
        except LedgerUnavailable:
            raise  # nothing is known to be other than it was: another attempt may find out
        except (OSError, DitherError, ValueError):
            return None
        if not hmac.compare_digest(proof, _proof(secret, ledger, held, context)):
            return None
        return _key(secret, ledger, held, context)

    def tidy(self) -> None:
        """Erase the secrets that have served, once an hour."""
        if self._secrets.is_due:
            with suppress(DitherError):
                erase_secrets(self._secrets, self._curator.ledger)

    def _is_same_edition(self, held: Reservation) -> bool:
        """Whether no other rows were announced since the debit, which names the edition that it is about."""
        entries = self._curator.ledger.entries(self._dataset.name, after=held.entry - 1)
        debit = next(iter(entries), None)
        if debit is None or debit.hash != held.hash:
            return False
        return bool(debit.record.get("edition") == self._curator.standing(self._dataset.name).edition)

    def _context(self, files: tuple[Any, ...] | None) -> bytes | None:
        """Return a digest of all that decides the answer; None where the rows are not imported files."""
        if files is None:
            return None
        record = {
            "version": _VERSION,
            "request": self._run.request.digest,
            "declared": _declared(self._dataset),
            "files": files,
            "mechanism": digest(self._run.mechanism),
            "engine": release_of(self._dataset),
            "machine": computed_by(),
        }
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).digest()


def erase_secrets(found: HourSecrets, ledger: Ledger) -> None:
    """Erase the secrets that no request of a ledger needs."""
    found.erase(lambda: {int(proof.partition(":")[0]) for proof in ledger.open_proofs()})


def _key(secret: bytes, ledger: Ledger, held: Reservation, context: bytes) -> bytes:
    return derived_key(secret, _PURPOSE, "noise", ledger.id, held.hash, context.hex())


def _proof(secret: bytes, ledger: Ledger, held: Reservation, context: bytes) -> str:
    bound = json.dumps([ledger.id, held.hash, context.hex()]).encode()
    return hmac.digest(derived_key(secret, _PURPOSE, "proof"), bound, "sha256").hex()


def _imported(home: Path, name: str, *, is_read: bool = False) -> tuple[Any, ...] | None:
    """Return what tells the imported rows of a data set from all others; None where some are not copies.

    Args:
        home: the curator's folder.
        name: of the data set.
        is_read: whether the copies are read again, in place of what was written down when they were imported.

    """
    edition = current(home, name)
    if edition is None:
        return None
    tables = []
    for table, part in sorted(edition.tables.items()):
        if not part.is_copy or not part.files or not all(file.digest for file in part.files):
            return None
        digests = [_sha256(Path(file.path)) if is_read else file.digest for file in part.files]
        tables.append([table, [[Path(file.path).name, one] for file, one in zip(part.files, digests, strict=True)]])
    return edition.fingerprint, edition.added, tables


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _declared(dataset: DataSet) -> str:
    return hashlib.sha256(dump_schema(dataset).encode()).hexdigest()


@functools.cache
def computed_by() -> tuple[Any, ...]:
    """Return the versions of all that computes, and which instructions the processor has."""
    found = []
    for library in _LIBRARIES:
        try:
            found.append((library, version(library)))
        except PackageNotFoundError:
            found.append((library, ""))
    features: Mapping[str, bool] = {}
    with suppress(ImportError, AttributeError):
        features = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    instructions = sorted(name for name, is_there in features.items() if is_there)
    return dither.__version__, tuple(found), sys.version, platform.machine(), tuple(instructions)
