"""``dither receipt`` and ``dither witness``: what was debited for an answer, for whoever wants to check it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli.console import print_json, say
from dither.cli.exits import ANSWER_IS_NO
from dither.cli.options import DataSetName, Force, Home, Json, Out, Server
from dither.cli.outputs import Output, check_outputs, keep_files, write_whole
from dither.cli.remote import connection, named_elsewhere
from dither.curator.folder import Curator
from dither.curator.receipts import (
    FOLDER,
    Log,
    PublicKey,
    Stated,
    Verified,
    WitnessKey,
    begin_anew,
    cosigned_at,
    is_statement,
    read_checkpoint,
    read_receipt,
    receipt_text,
    take_key,
    verify_receipt,
    verify_statement,
)
from dither.errors import InvalidParameter
from dither.privacy import Loss

Key = Annotated[Path, typer.Option("--key", help="A file with the curator's key, as 'dither receipt key' writes it.")]


def show(
    name: Annotated[str, typer.Argument(metavar="ANSWER", help="Its number, its key, or its place in the ledger.")],
    dataset: Annotated[str | None, typer.Option(help="Whose answer; needed with --server.")] = None,
    out: Out = None,
    force: Force = False,
    home: Home = None,
    server: Server = None,
) -> None:
    """Write the receipt of a stored answer, which anybody can check."""
    asked = connection()
    if asked is not None:
        with asked:
            text = receipt_text(asked.receipt(named_elsewhere(dataset), name))
    else:
        with Curator.open(home) as curator:
            answered = curator.answer(name, dataset=dataset)
            text = receipt_text(Log(curator.ledger, curator.folder).receipt(answered.receipt.entry))
    _put(text, out, force=force)


def key(out: Out = None, force: Force = False, home: Home = None, server: Server = None) -> None:
    """Print the key with which receipts of this folder are checked.

    Of a service, without a token, it is the key that was seen first, and the program refuses another.
    """
    asked = connection(is_public=True)
    if asked is not None:
        with asked:
            text = f"{asked.key()}\n"
    else:
        with Curator.open(home) as curator:
            text = f"{Log(curator.ledger, curator.folder).public_key}\n"
    _put(text, out, force=force)


def new_key(
    lost: Annotated[
        bool, typer.Option("--lost", help="The key is lost: start with one that no old key has signed.")
    ] = False,
    home: Home = None,
) -> None:
    """Sign with a new key from now on, which the old one signs; old receipts are checked with the old key."""
    with Curator.open(home) as curator:
        _refuse_served(curator)
        if lost:
            say(f"receipts from now on are checked with {begin_anew(curator.books, curator.folder / FOLDER)}")
            say("no old key has signed it: inform everybody who checks receipts")
            return
        log = Log(curator.ledger, curator.folder)
        old = log.public_key
        new = log.change_key()
    say(f"receipts up to now are checked with {old}")
    say(f"receipts from now on are checked with {new}")


def export_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sealed file.")],
    force: Force = False,
    home: Home = None,
) -> None:
    """Write the key that signs into a sealed file, for another machine that shares the ledger; print its code."""
    with Curator.open(home) as curator:
        content, code = Log(curator.ledger, curator.folder).sealed_key()
    _put(content.decode(), file, force=force)
    say(f"{file} is opened by this code, which is shown once. Send it separately from the file:")
    say(code)


def import_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As 'dither receipt export-key' wrote it.")],
    code: Annotated[str | None, typer.Option(help="The code that was shown with it. Prompted for by default.")] = None,
    home: Home = None,
) -> None:
    """Sign with the key of another machine that shares the ledger, from its sealed file."""
    with Curator.open(home) as curator:
        _refuse_served(curator)
        content = _read("file", file)
        told = typer.prompt("code", hide_input=True) if code is None else code
        public = take_key(curator.books, curator.folder / FOLDER, content, told)
    say(f"receipts are checked with {public}, as on the machine that wrote {file}")


def _refuse_served(curator: Curator) -> None:
    from dither.service.starting import is_served

    if is_served(curator.folder):
        raise InvalidParameter("folder", str(curator.folder), "not served meanwhile: stop the service first")


def checkpoint(out: Out = None, force: Force = False, home: Home = None, server: Server = None) -> None:
    """Print the signed head of the ledger.

    Of a service, without a token: it is checked with the key that was seen first there.
    """
    asked = connection(is_public=True)
    if asked is not None:
        with asked:
            text = asked.checkpoint()
    else:
        with Curator.open(home) as curator:
            text = Log(curator.ledger, curator.folder).checkpoint()
    _put(text, out, force=force)


def verify(
    receipt: Annotated[Path, typer.Argument(metavar="FILE", help="A receipt.")],
    key: Key,
    answer: Annotated[Path | None, typer.Option(help="The answer itself, to be compared as well.")] = None,
    as_json: Json = False,
) -> None:
    """Check a receipt without a folder or a server; exit 1 if it proves nothing."""
    public = PublicKey.read(_read("key", key).decode("utf-8", "replace"))
    content = _read("receipt", receipt)
    given = None if answer is None else _read("answer", answer)
    try:
        found = _proved(read_receipt(content.decode("utf-8", "replace")), public, given)
    except InvalidParameter as problem:
        if as_json:
            print_json({"is_proved": False, "reason": str(problem)})
        else:
            say(f"NOT PROVED: {problem}")
        raise typer.Exit(ANSWER_IS_NO) from None
    if as_json:
        plain = {name: one.to_dict() if isinstance(one, Loss) else one for name, one in vars(found).items()}
        print_json({"is_proved": True, **plain})
    else:
        say(f"proved: {found}")


def _proved(receipt: Any, key: PublicKey, answer: bytes | None) -> Verified | Stated:
    """Return what a receipt of any form proves."""
    if not is_statement(receipt):
        return verify_receipt(receipt, key, answer)
    if answer is not None:
        raise InvalidParameter("answer", "given", "not allowed with a statement, which is about no answer")
    return verify_statement(receipt, key)


def state(dataset: DataSetName, out: Out = None, force: Force = False, home: Home = None) -> None:
    """Update the public statement of a data set's budget and what is spent of it; with -o, write the receipt.

    Something of the data set must be published: each publication states both as they were then.
    """
    with Curator.open(home) as curator:
        number = curator.state(dataset)
        text = receipt_text(Log(curator.ledger, curator.folder).published_receipt(number))
    say(f"entry {number} states the budget of {dataset} and what is spent of it")
    if out is None:
        say(f"a service shows its receipt at /v1/published/{number}/receipt")
    else:
        _put(text, out, force=force)


def cosigned(
    note: Annotated[Path, typer.Argument(metavar="NOTE", help="A signed head, as 'dither witness -o' writes it.")],
    key: Key,
    witness: Annotated[Path, typer.Option(help="A file with the witness's key.")],
    as_json: Json = False,
) -> None:
    """Check that a curator and a witness have signed a head; exit 1 if one has not."""
    text = _read("note", note).decode("utf-8", "replace")
    public = PublicKey.read(_read("key", key).decode("utf-8", "replace"))
    other = WitnessKey.read(_read("witness", witness).decode("utf-8", "replace"))
    try:
        head = read_checkpoint(text, public)
        at = datetime.fromtimestamp(cosigned_at(text, head, other), UTC).isoformat()
    except InvalidParameter as problem:
        if as_json:
            print_json({"is_cosigned": False, "reason": str(problem)})
        else:
            say(f"NOT COSIGNED: {problem}")
        raise typer.Exit(ANSWER_IS_NO) from None
    if as_json:
        print_json({"is_cosigned": True, "size": head.size, "time": at, "witness": other.name})
    else:
        say(f"{other.name} has cosigned the ledger of {head.size} entries at {at}")


def witness(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the service is.")],
    keep: Annotated[Path, typer.Option(help="A file that remembers the last visit.")],
    cosign: Annotated[
        Path | None, typer.Option(help="A file with a key of yours, made if it is not there, that signs the head, too.")
    ] = None,
    name: Annotated[str, typer.Option(help="What you call yourself as a witness.")] = "witness",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Check that the ledger of a service was never rewritten since the last visit; exit 1 if it was."""
    from dither.curator.keys import SigningKey
    from dither.service.witness import Cosigner, visit

    cosigner = None if cosign is None else Cosigner(name, SigningKey.kept(cosign))
    key = "" if cosigner is None else str(cosigner.public)
    found = visit(url, keep, cosigner)
    if as_json:
        print_json({**vars(found), "witness": key})
    else:
        say(str(found))
        if cosigner is not None and found.is_consistent:
            say(f"cosigned by {key}")
    if out is not None and found.is_consistent:
        _put(found.note, out, force=force)
    if not found.is_consistent:
        raise typer.Exit(ANSWER_IS_NO)


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InvalidParameter(name, str(path), f"a file that can be read ({problem.strerror})") from None


def _put(text: str, out: Path | None, *, force: bool) -> None:
    if out is None:
        typer.echo(text, nl=False)
        return
    outputs: list[Any] = [Output("out", out, (out.suffix,))]
    check_outputs(outputs)
    keep_files(outputs, force=force)
    write_whole(out, lambda draft: draft.write_text(text, encoding="utf-8"))
    say(f"wrote {out}")
