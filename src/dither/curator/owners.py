"""The life of a data set: budgets that are raised, quotas, names, its end; what was asked, and answers told again.

Every decision is an entry of the ledger's chain. None of them reads rows, and none gives budget back.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from dither.curator.history import Act, Answered, answered, history_of
from dither.curator.ledger import Balance, Ledger, Standing
from dither.data.schema import check_name
from dither.errors import InvalidParameter, NotFound
from dither.exact import Number
from dither.privacy import Loss, stated_loss


class OwnersVerbs:
    """What the owner of data sets decides about them, by what each is called now."""

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The ledger, opened when first needed."""

    @abstractmethod
    def _remove_rows(self, name: str) -> None:
        """Remove the copies of a data set's rows."""

    def registered(self, name: str) -> str:
        """Return the name that a data set is registered with, or will be: what the books call it.

        Raises:
            NotFound: it is called otherwise now.

        """
        standings = self.ledger.standings()
        for registered, standing in standings.items():
            if standing.name(registered) == name:
                return registered
        for registered, standing in standings.items():
            if name in (registered, *standing.called):
                now = standing.name(registered)
                raise NotFound(
                    f"the data set {name} is called {now} now; a schema that adds to it says 'dataset: {now}'"
                )
        return name

    def called(self, registered: str) -> str:
        """Return what a data set is called now, by the name that it is registered with."""
        return self.standing(registered).name(registered)

    def standing(self, registered: str) -> Standing:
        """Return how a data set stands: its names, whether it has quotas or is retired, which edition its rows are."""
        return self.ledger.standings().get(registered, Standing())

    def raise_budget(
        self,
        dataset: str,
        budget: Loss | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        reason: str,
    ) -> Balance:
        """Give a data set a larger budget of the same kind, and return what may be spent now.

        What was promised to the people in the data is weaker from now on. The chain of the ledger and the release
        card say so, with the reason. A budget is never lowered.

        Args:
            dataset: what it is called.
            budget: what all releases together may lose from now on, for ever, those so far included; or in words:
            epsilon: its epsilon, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a budget in zero-concentrated differential privacy.
            reason: why, for everybody who reads the books or the card.

        """
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidParameter("reason", reason, "a string that is not empty: the release card shows it")
        name = self._known(dataset)
        self.ledger.raise_budget(name, _stated("budget", budget, epsilon, delta, rho), reason=reason)
        return self.ledger.balance(name)

    def set_quota(
        self,
        dataset: str,
        analyst: str,
        quota: Loss | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Balance:
        """Limit what one analyst may spend of a data set, and return what that analyst may spend now.

        From the first quota on, analysts without one may spend nothing; the owner, who is called ``curator``, may
        spend what the budget has. A quota may be changed at any time, and may be below what is spent.

        Args:
            dataset: what it is called.
            analyst: whose quota.
            quota: what all of the analyst's releases together may lose, those so far included; or in words:
            epsilon: its epsilon, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a quota in zero-concentrated differential privacy.

        """
        name = self._known(dataset)
        self.ledger.set_quota(name, analyst, _stated("quota", quota, epsilon, delta, rho))
        return self.ledger.balance(name, analyst)

    def rename(self, dataset: str, name: str, *, reason: str = "") -> None:
        """Call a data set otherwise: its budget, its answers and its receipts stay what they are.

        Receipts and the books keep the name that it is registered with. No other data set can be given a name that
        this one had, because the name stands for the people in the data.

        Args:
            dataset: what it is called.
            name: what it is to be called.
            reason: why, for the books.

        """
        check_name("name", name)
        self.ledger.rename(self._known(dataset), name, reason=reason)

    def retire(self, dataset: str, *, reason: str) -> None:
        """End a data set: nothing more is asked of it, and the copies of its rows are removed.

        Its books stay, and so do the answers that were given. The same rows cannot be added under another name.

        Args:
            dataset: what it is called.
            reason: why, for the books.

        """
        name = self._known(dataset)
        if not self.standing(name).is_retired:
            self.ledger.retire(name, reason=reason)
        # Again, where somebody died in between.
        self._remove_rows(name)

    def history(self, dataset: str) -> tuple[Act, ...]:
        """Return who asked what, when, at which price, and what its owner decided; from the oldest.

        Args:
            dataset: what it is called.

        """
        return history_of(self.ledger, self._known(dataset))

    def answer(self, name: str, *, dataset: str | None = None) -> Answered:
        """Return a stored answer once more; nothing is charged.

        Args:
            name: the number that ``history`` has, the key it was asked with, or the place that a receipt tells.
            dataset: what its data set is called, where the same key was used with several.

        """
        found = self.ledger.find_answers(str(name), None if dataset is None else self._known(dataset))
        if not found:
            raise NotFound(f"no stored answer is called {str(name)[:64]!r}; 'dither datasets history' lists them")
        if len(found) > 1:
            whose = ", ".join(f"{one.entry} ({one.account.dataset}, {one.account.analyst})" for one in found)
            raise InvalidParameter("name", name, f"that of one answer: {whose} have it; give one of these numbers")
        return answered(found[0], self.standing(found[0].account.dataset))

    def _known(self, dataset: str) -> str:
        name = self.registered(dataset)
        if name not in self.ledger.datasets():
            raise NotFound(f"no data set is registered as {str(dataset)[:64]!r}")
        return name


def _stated(parameter: str, loss: Loss | None, epsilon: Any, delta: Any, rho: Any) -> Loss:
    if loss is None:
        return stated_loss(epsilon=epsilon, delta=delta, rho=rho)
    if any(word is not None for word in (epsilon, delta, rho)):
        raise InvalidParameter(parameter, loss, "set alone, instead of epsilon, delta and rho")
    return loss
