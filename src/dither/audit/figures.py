"""The findings of a whole run as tables for people: figures, instances, specimens and mutants.

A sheet is plain texts; it is printed on a terminal and written into the page alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dither.audit.accounts import Account
from dither.audit.everything import Run
from dither.audit.unshown import REASONS, TELLING, best_shares, holes

_LONGEST = 120


@dataclass(frozen=True)
class Sheet:
    """A table: its title, headings, rows of equally many cells, and which rows are bad."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bad: frozenset[int] = frozenset()


def figures_of(run: Run) -> Sheet:
    """Return the figures of a whole run, a line for each kind of trial."""
    rows = []
    for kind in ("primitive", "conversation", "composed", "of your own"):
        accounts = [one for one in run.accounts if one.kind == kind]
        if accounts:
            rows.append((_PLURALS[kind], *_of_accounts(accounts, with_replay=kind == "composed")))
    if run.random:
        leaks = sum(bool(one.leaks) for one in run.random)
        tried = (
            f"{sum(one.pairs for one in run.random):,} pairs, {len(run.random)} classes and estimators, {leaks} leak"
        )
        fewest = min(run.random, key=lambda one: one.pairs)
        rows.append(("random neighbours", tried, f"at least {fewest.pairs:,} of each ({fewest.name})"))
    if run.budgets:
        checked, wrong = (sum(one) for one in zip(*((x.checked, len(x.complaints)) for x in run.budgets), strict=True))
        rows.append(("budgets from outside", f"{checked:,} checked, {wrong} exceeded", "windows, filters, parts"))
    if run.correlated:
        refuted_talks = sum(one.is_refuted for one in run.correlated)
        least_share = min(run.correlated, key=lambda one: one.share)
        tried = (
            f"{len(run.correlated)} counters, {least_share.conversations:,} conversations each, {refuted_talks} refuted"
        )
        rows.append(("noise over time", tried, f"least noise: {least_share.share:.2f} of what is needed"))
    if run.specimens:
        refuted = [one for one in run.specimens if one["is_refuted"]]
        ways = Counter(one["refuted_by"] for one in refuted)
        said = ", ".join(f"{count} by {way}" for way, count in ways.items())
        rows.append(("specimens", f"{len(refuted)} of {len(run.specimens)} refuted", said))
    if run.mutants:
        killed = [one for one in run.mutants if one["outcome"] == "killed"]
        without = sum(not one["is_sampled"] for one in killed)
        rows.append(("mutants", f"{len(killed)} of {len(run.mutants)} killed", f"{without} without a sample"))
    if run.agreement is not None:
        one = run.agreement
        tried = f"{one.compositions:,} compositions, {one.understated} understated"
        rows.append(("accountants", tried, f"at most {one.over:.2%} above the truth, by three routes"))
    if run.moved:
        exceeded = sum(found.is_exceeded for found in run.moved.values())
        least = min(found.tightness for found in run.moved.values())
        tried = f"{run.pairs:,} hostile pairs, {len(run.moved)} kinds of numbers, {exceeded} exceeded"
        rows.append(("sensitivities of queries", tried, f"at least {least:.2f} of what is declared was attained"))
    for engine in run.engines:
        exceeded = sum(found.is_exceeded for found in engine.moved.values())
        tried = f"{engine.pairs:,} hostile pairs, {exceeded} exceeded, {len(engine.differences)} differences"
        more = f"not tried, because {engine.absent}" if engine.absent else "from the reference engine, as printed"
        rows.append((f"SQL for {engine.engine}", tried, more))
    if run.fits:
        refuted_laws = sum(fit.is_refuted for fit, _ in run.fits.values())
        draws = min(fit.draws for fit, _ in run.fits.values())
        worst = max(error for _, error in run.fits.values())
        tried = f"{len(run.fits)} laws, {draws:,} draws each, {refuted_laws} refuted"
        rows.append(("noise", tried, f"a scale {worst:.1%} too small would be seen in each"))
    rows.append(("false alarm of all", f"at most {run.false_alarm:g}", f"{run.seconds / 60:.1f} minutes"))
    rows.append(("complaints", str(len(run.complaints)), f"{len(run.unfinished)} not tried for lack of time"))
    return Sheet("Figures", ("what", "tried and found", "more"), tuple(rows))


_PLURALS = {
    "primitive": "primitives",
    "conversation": "conversations",
    "composed": "composed mechanisms",
    "of your own": "of your own",
}


def _of_accounts(accounts: Sequence[Account], *, with_replay: bool) -> tuple[str, str]:
    samples = sorted(one.samples for one in accounts)
    shares = sorted(one.share for one in accounts if one.share is not None)
    above = sum(one.is_refuted for one in accounts)
    least, most = f"{samples[0]:,}", f"{samples[-1]:,}"
    spread = most if least == most else f"{least} to {most}"
    tried = f"{len(accounts)} instances, {spread} outputs a side, {above} refuted"
    more = f"{sum(one.seconds for one in accounts):,.0f} core-seconds"
    if shares:
        more += f"; share of the claim shown: median {shares[len(shares) // 2]:.2f}, largest {shares[-1]:.2f}"
    if with_replay:
        best = best_shares(accounts)
        telling = sum(share >= TELLING for share in best.values())
        more += f"; {telling} of {len(best)} algorithms show {TELLING:g} of a claim"
        more += f"; {sum(one.replayed for one in accounts):,} pairs replayed"
    return tried, more


def instances_of(accounts: Sequence[Account]) -> Sheet:
    """Return a line for each instance."""
    headings = ("mechanism", "example", "claim", "shown", "share of claim", "outputs a side", "pairs", "replayed")
    rows = tuple(
        (
            one.name,
            str(one.number),
            one.claim,
            one.bound,
            "" if one.share is None else f"{one.share:.3f}",
            f"{one.samples:,}",
            str(one.pairs),
            f"{one.replayed:,}" if one.replayed else "",
            f"{one.seconds:.1f}",
            one.pair,
            one.verdict,
        )
        for one in accounts
    )
    bad = frozenset(place for place, one in enumerate(accounts) if one.complaints)
    return Sheet("All instances", (*headings, "seconds", "worst pair", "verdict"), rows, bad)


def unshown_of(run: Run) -> Sheet:
    """Return a line for each composed algorithm that shows little of its claim, with the reason."""
    little = {name: share for name, share in best_shares(run.accounts).items() if share < TELLING}
    missing = set(holes(run.accounts)) if run.is_in_full else set()
    near = "so near that chance decides"
    rows = tuple((name, f"{share:.3f}", REASONS.get(name, near)) for name, share in little.items())
    rows = tuple((name, share, "NO REASON" if name in missing else why) for name, share, why in rows)
    bad = frozenset(place for place, (name, *_) in enumerate(rows) if name in missing)
    return Sheet(f"Algorithms that show less than {TELLING:g} of a claim", ("algorithm", "share", "why"), rows, bad)


def specimens_of(run: Run) -> Sheet:
    """Return a line for each specimen: the claim, the evidence, and how it was found."""
    rows = tuple(
        (
            one["name"],
            one["claimed"],
            one["bound"],
            one["refuted_by"],
            one["replacement"],
            "refuted" if one["is_refuted"] else "WITHSTOOD",
        )
        for one in run.specimens
    )
    bad = frozenset(place for place, one in enumerate(run.specimens) if not one["is_refuted"])
    return Sheet("Specimens", ("specimen", "claim", "shown", "refuted by", "instead", "verdict"), rows, bad)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def mutants_of(run: Run) -> Sheet:
    """Return a line for each mutant: what it breaks, which kind of check kills it, and the message of the check."""
    rows = tuple(
        (str(one["number"]), one["name"], one["breaks"], one["killed_by"], _short(one["complaint"]), one["outcome"])
        for one in run.mutants
    )
    bad = frozenset(place for place, one in enumerate(run.mutants) if one["outcome"] != "killed")
    headings = ("number", "mutant", "what it breaks", "killed by", "what the check said", "outcome")
    return Sheet("Mutants", headings, rows, bad)
