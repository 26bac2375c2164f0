"""What a ledger promises, whatever it is kept in.

A release is paid for in three durable steps. ``reserve`` debits the loss before the data is read; ``begin_draw`` says
that noise is drawn, before the first random bit; ``complete`` stores the answer before it is sent. A process may die at
any point: the debit stands and no answer is out. If it died before the draw, whoever comes back with the same key goes
on where it stopped. If it died after it, a caller that can draw the very same noise again resumes the request, and
otherwise it is sealed: for one debit there is one noise. Whoever comes while it lives waits for its outcome.

Guarantee: in every reachable state, after any crash, the losses of all answered requests of a data set add up to no
more than what is debited to it, less what answers gave back; and what is debited was admitted by the valid filter of
its budget. Nothing but an answer that says itself that it lost less gives anything back.
"""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.holds import Hold
from dither.curator.ledger.standing import OPEN, Standing
from dither.curator.ledger.terms import Terms
from dither.data.closing import Closing
from dither.errors import InvalidParameter
from dither.mechanisms.notebook import html
from dither.privacy import Loss

if TYPE_CHECKING:
    from dither.pages.frame import Chart

#: How often a request may be begun in all. A failure that depends on the data is a coin, and this is how often an
#: analyst may have it flipped.
MOST_ATTEMPTS = 3
#: Who owns the rows, may look at them, and needs no quota: the analyst of a session that names none.
OWNER: Final = "curator"
#: How long ``reserve`` waits for another caller that works on the same request, in seconds, unless told otherwise.
WAIT_SECONDS = 30.0
LONGEST_WAIT_SECONDS = 86_400.0
LONGEST_NAME = 200
LONGEST_DESCRIPTION = 20_000
_NAME_RULE = f"1 to {LONGEST_NAME} printable characters in normal form (NFKC), without spaces at the ends"


@dataclass(frozen=True)
class Account:
    """Who spends, and of which data set."""

    dataset: str
    analyst: str

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        checked_name("analyst", self.analyst)


@dataclass(frozen=True)
class Reservation:
    """A durable debit that waits for its answer.

    ``loss`` is what was debited, ``entry`` and ``hash`` are the debit's place in the chain, and ``attempt`` says how
    often the request has been begun, this time included. ``proof`` is that of an earlier draw, where this attempt is to
    resume one: the same noise is drawn again, or the request is sealed. ``hold`` keeps others from working on the same
    request until the reservation is completed, abandoned, or dropped.
    """

    account: Account
    key: str
    request_digest: str
    loss: Loss
    attempt: int
    entry: int
    hash: str
    proof: str = ""
    hold: Hold | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Receipt:
    """A durable answer: what was debited for it, and where the ledger says so.

    ``answer`` is what the ledger has stored, and all that may be sent: another attempt may have been the first to
    complete. ``entry`` and ``hash`` are the place of the answer in the chain.
    """

    ledger: str
    account: Account
    key: str
    request_digest: str
    loss: Loss
    entry: int
    hash: str
    answer_digest: str
    answer: bytes = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without the answer, as a release card shows it."""
        return {
            "ledger": self.ledger,
            "dataset": self.account.dataset,
            "analyst": self.account.analyst,
            "key": self.key,
            "request": self.request_digest,
            "loss": self.loss.to_dict(),
            "entry": self.entry,
            "hash": self.hash,
            "answer": self.answer_digest,
        }


@dataclass(frozen=True)
class Stored:
    """What ``reserve`` returns for a request that was answered before: the same bytes again, at no cost."""

    receipt: Receipt

    @property
    def answer(self) -> bytes:
        """The bytes that were stored."""
        return self.receipt.answer


@dataclass(frozen=True)
class Balance:
    """What an account may spend and has spent.

    ``spent`` is all that was debited, less what releases gave back that stopped early (``complete``). It includes
    ``reserved``, the part that waits for answers. ``left`` is the largest single release that would
    still be admitted: pure, or zCDP under a zCDP budget. For one analyst ``budget`` is the quota, or the data set's
    budget where there is none, and ``left`` is what both have room for. ``most`` is what the grant allows for one
    release, None for no such limit.
    """

    dataset: str
    analyst: str | None
    unit: str
    budget: Loss
    spent: Loss
    reserved: Loss
    left: Loss
    releases: int
    waiting: int
    sealed: int
    most: Loss | None = None

    def __str__(self) -> str:
        whose = f"{self.dataset}" if self.analyst is None else f"{self.dataset} for {self.analyst}"
        many = f"{self.releases} {'release' if self.releases == 1 else 'releases'}"
        return f"{whose}: {self.spent} of {self.budget} spent in {many}; {self.left} is left"

    def __repr__(self) -> str:
        return f"<Balance of {self}>"

    def _repr_html_(self) -> str:
        facts = [("spent", self.spent), ("of", self.budget), ("left", self.left), ("releases", self.releases)]
        if self.waiting or self.sealed:
            facts += [("waiting for answers", self.waiting), ("sealed", self.sealed)]
        facts += [("protects", self.unit)] if self.analyst is None else [("protects", self.unit), ("by", self.analyst)]
        return html(f"Budget of {self.dataset}", facts=facts, picture=self.picture())

    def picture(self) -> Chart:
        """Return what is spent and what is left, beside the budget, as a picture."""
        from dither.curator.pictures import balance_picture

        return balance_picture(self)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: ``record`` is what the chain's ``hash`` covers, in plain data."""

    number: int
    kind: str
    time: str
    dataset: str | None
    analyst: str | None
    key: str | None
    loss: Loss | None
    record: Mapping[str, Any] = field(repr=False)
    hash: str = field(repr=False)


@dataclass(frozen=True)
class Verification:
    """What ``verify`` found: nothing to complain of, or all that contradicts itself."""

    ledger: str
    entries: int
    datasets: int
    releases: int
    head: str
    problems: tuple[str, ...]

    @property
    def is_intact(self) -> bool:
        """Whether chain, sums, answers and anchor agree."""
        return not self.problems


class Ledger(Closing):
    """The budgets of data sets, and every debit ever made to them.

    A ledger may be shared by threads. It stays in the process that opened it; any number of processes may open the
    same one. It is a context manager: leaving it closes it.
    """

    @property
    @abstractmethod
    def id(self) -> str:
        """A name that no other ledger has."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the ledger is kept: a path, or a URL without a password."""

    @abstractmethod
    def register(self, dataset: str, *, budget: Loss, unit: str, stage: str = OPEN) -> None:
        """Open the account of a data set, or find it open with the same budget and unit.

        The name stands for the people in the data, not for a file: another version of the table, registered under the
        same name, inherits what was spent.

        Args:
            dataset: the name.
            budget: the loss that all releases together may have, for ever.
            unit: what one unit of the data is, in words that are compared exactly.
            stage: "open", or "draft" for a new one to which nothing is debited yet.

        Raises:
            InvalidParameter: the name is taken, with another budget or unit.

        """

    @property
    def is_durable(self) -> bool:
        """Whether what is debited outlives this process; where it does not, a release says *unledgered*."""
        return True

    @abstractmethod
    def raise_budget(self, dataset: str, budget: Loss, *, reason: str) -> None:
        """Give a data set a larger budget of the same kind; the chain keeps the reason.

        Args:
            dataset: the name that it is registered with.
            budget: no less in any figure than the one before.
            reason: why, for everybody who reads the books or a release card.

        """

    @abstractmethod
    def set_quota(self, dataset: str, analyst: str, quota: Loss, *, terms: Terms | None = None) -> None:
        """Limit what one analyst may spend of a data set's budget, and on what terms; those of before unless given.

        As long as a data set has no quotas every analyst may spend all of it. From the first one on, those without a
        quota may spend nothing, the owner excepted. A quota divides the budget and never adds to it. It may be set
        below what is spent already.
        """

    @abstractmethod
    def rename(self, dataset: str, name: str, *, reason: str = "") -> None:
        """Call a data set otherwise from now on.

        Accounts, entries and receipts keep the name that it is registered with, so that they stay verifiable; the
        chain says what it was called when. Nobody else can be given a name that it had.
        """

    @abstractmethod
    def retire(self, dataset: str, *, reason: str) -> None:
        """Debit nothing more to a data set, for ever. What was answered can still be told."""

    @abstractmethod
    def begin_edition(self, dataset: str) -> int:
        """Say that other rows take the place of those before; return the number of their edition."""

    @abstractmethod
    def standings(self) -> Mapping[str, Standing]:
        """Return how each data set stands: names, quotas, edition, whether it is retired; by registered name."""

    @abstractmethod
    def find_answers(self, name: str, dataset: str | None = None) -> tuple[Receipt, ...]:
        """Return the stored answers that a name stands for; nothing is charged and nothing is drawn.

        Args:
            name: the number of an entry (a debit's or an answer's), a key, or the place that a receipt tells.
            dataset: the registered name, where only one data set's answers are wanted.

        """

    @abstractmethod
    def answers_that_begin(
        self, dataset: str, beginning: str, analysts: Collection[str] | None = None
    ) -> tuple[Receipt, ...]:
        """Return the stored answers whose keys begin so.

        Args:
            dataset: the registered name.
            beginning: of the key.
            analysts: whose; None for everybody's.

        """

    @abstractmethod
    def latest_answered(
        self, account: Account, *, but: str, after: int = 0, most: int = 1000
    ) -> tuple[tuple[str, str, Amount], ...]:
        """Return key, digest and charge of an analyst's latest answers, the latest first; nothing is proved of them.

        Args:
            account: whose.
            but: leave out those whose keys begin so.
            after: and those that were debited up to this entry.
            most: how many at most. Where an analyst has more, only about as many of the latest are looked at as
                anybody was given.

        """

    @abstractmethod
    def known_digest(self, account: Account, key: str) -> str | None:
        """Return the digest of the request that was debited to an account for a key, if one was.

        Args:
            account: whose.
            key: the name of a request.

        """

    @abstractmethod
    def answers_called(
        self, dataset: str, keys: Sequence[str], analysts: Collection[str] | None = None
    ) -> tuple[Receipt, ...]:
        """Return the stored answers that have one of these keys, those of the first key first.

        Args:
            dataset: the registered name.
            keys: the names of requests.
            analysts: whose; None for everybody's.

        """

    @abstractmethod
    def reserve(
        self,
        account: Account,
        key: str,
        request_digest: str,
        loss: Loss,
        *,
        description: str = "",
        wait: float = WAIT_SECONDS,
        resumes: bool = False,
    ) -> Reservation | Stored:
        """Debit ``loss`` durably, before the first random bit is drawn.

        The same account and key again, with the same digest, give the stored answer at no cost. Where there is none
        yet and another caller works on it, in any thread or process, its outcome is waited for. Where there is none
        and nobody works on it any more, one of those who ask gets the same reservation for another attempt, at no
        further cost, three in all. If noise was drawn for it, only a caller that can resume gets it.

        Args:
            account: who asks, and of which data set.
            key: the caller's name for this request; a retry brings the same one.
            request_digest: a digest of the whole request, so that a key is not taken for another one.
            loss: what the release may lose; the debit is this, rounded up.
            description: what was asked, in public words, for the export.
            wait: for how many seconds another caller is waited for, at most.
            resumes: whether the caller can draw the same noise again, where it was drawn with a proof; the proof is in
                the reservation, and the caller compares it before it draws, or calls ``seal``.

        Raises:
            BudgetExceeded: the loss does not fit; nothing was debited.
            AllowanceExceeded: the quota has room, its allowance has not yet.
            ApprovalPending: others must agree, and were asked; nothing was debited.
            ApprovalDeclined: they do not agree.
            DataSetNotOpen: the data set is a draft, paused or closed.
            RequestCancelled: the request was cancelled before it was debited.
            AnalystUnknown: the data set has quotas, and the analyst has none.
            DataSetRetired: nothing more is debited to the data set.
            KeyReused: the key belongs to another request; nothing was debited.
            RequestSealed: three attempts were begun and none was answered.
            ReleaseFailed: noise was drawn for it, no answer was stored, and it cannot resume.
            RequestUnderWay: another caller works on it and was not done in time; the same key finds out.
            HandleMisuse: this thread works on it already, and would wait for itself.

        """

    @abstractmethod
    def begin_draw(self, reservation: Reservation, *, proof: str = "") -> None:
        """Say durably that noise is about to be drawn for a request, before the first random bit.

        From here on the request is answered by this noise, or never: whoever comes with its key after the caller died
        or failed can draw the same noise again, or is refused, because why it died may follow from the noise. Of
        several who hold one request, as when a hold was lost, one draws.

        Args:
            reservation: what ``reserve`` returned.
            proof: by which a later caller knows that it draws the same noise: an hour and a keyed digest, from which
                nothing follows without its key. "" where nobody can.

        Raises:
            ReleaseFailed: noise was drawn before; nothing may be drawn now.
            RequestSealed: the request was given up meanwhile; nothing may be drawn.

        """

    @abstractmethod
    def complete(self, reservation: Reservation, answer: bytes, *, spent: Loss | None = None) -> Receipt:
        """Store the answer durably, before it is sent.

        The first to complete wins: whoever comes later, with whatever bytes, gets the stored ones back, and must send
        those.

        Args:
            reservation: what ``reserve`` returned.
            answer: the bytes to store.
            spent: what the release lost, if its answer alone says that it is less than was debited: for every pair of
                neighbours, this very answer is at most e^epsilon times as likely for one as for the other. Budgets and
                quotas of a pure epsilon take the difference back, in the same durable step; others keep the debit.

        Raises:
            RequestSealed: the request was given up meanwhile; the answer must not be sent.

        """

    @abstractmethod
    def seal(self, reservation: Reservation) -> None:
        """Give up a request durably, for every caller: it failed after its draw, or its noise cannot be drawn again.

        The debit stands. Nothing happens to a request that is answered or sealed already.
        """

    @abstractmethod
    def open_proofs(self) -> tuple[str, ...]:
        """Return the proofs of all draws whose requests are neither answered nor sealed."""

    @abstractmethod
    def abandon(self, reservation: Reservation) -> None:
        """Give up working on a request that failed, so that whoever waits for it goes on at once.

        The debit stands and the attempt counts. Nothing happens to a request that was completed.
        """

    @abstractmethod
    def balance(self, dataset: str, analyst: str | None = None) -> Balance:
        """Return what is spent and what is left, of a data set or of one analyst's share of it."""

    @abstractmethod
    def would_admit(self, account: Account, loss: Loss, times: int = 1) -> bool:
        """Whether releases of ``loss`` would be admitted now, that many; nothing is promised for a moment later."""

    @abstractmethod
    def what_would_fit(self, account: Account, loss: Loss) -> str:
        """Return what would be admitted of the kind of ``loss``: a sentence with the least room of any limit."""

    @abstractmethod
    def left_after(self, account: Account, loss: Loss) -> Loss | None:
        """Return the largest release that would still fit after one of ``loss``; None where that does not fit."""

    @abstractmethod
    def datasets(self) -> tuple[str, ...]:
        """Return the names with which data sets are registered, sorted."""

    @abstractmethod
    def entries(self, dataset: str | None = None, *, after: int = 0) -> Iterator[Entry]:
        """Yield every line, or those that name a data set, from the oldest.

        Args:
            dataset: the registered name.
            after: leave out the lines up to this number.

        """

    @abstractmethod
    def verify(self) -> Verification:
        """Walk the whole chain, play it again, and compare it with the sums, the answers and the anchor."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the ledger; what was returned stays valid."""


def checked_name(parameter: str, name: str) -> str:
    """Return a name that can be read, compared and printed: two names that look alike should be one.

    >>> checked_name("dataset", "visits")
    'visits'
    >>> checked_name("dataset", " visits")
    Traceback (most recent call last):
        ...
    dither.errors.InvalidParameter: dataset must be 1 to 200 printable characters in normal form (NFKC), without \
spaces at the ends, got ' visits'
    """
    is_name = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()
    if not (is_name and (name.isascii() or unicodedata.is_normalized("NFKC", name))):
        raise InvalidParameter(parameter, name, _NAME_RULE)
    return name


def checked_wait(wait: float) -> float:
    """Return a time that can be waited for, in seconds."""
    is_time = isinstance(wait, int | float) and not isinstance(wait, bool) and 0 <= wait <= LONGEST_WAIT_SECONDS
    if not is_time:
        raise InvalidParameter("wait", wait, f"seconds, from 0 to {LONGEST_WAIT_SECONDS:g}")
    return float(wait)


def checked_text(parameter: str, text: str) -> str:
    """Return a text that every database can keep."""
    is_text = isinstance(text, str) and len(text) <= LONGEST_DESCRIPTION and "\0" not in text
    if not is_text or (not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)):
        rule = f"a string of at most {LONGEST_DESCRIPTION} characters, without NUL and lone surrogates"
        raise InvalidParameter(parameter, text, rule)
    return text
