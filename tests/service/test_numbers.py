"""A number in a body means its shortest decimal, and what is no number, or none that a double holds, is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dither.errors import InvalidParameter
from dither.service.body import LONGEST_NUMBER, read_object
from tests.service.conftest import Running
from tests.service.test_door import COUNT, ask, bearer

RELEASES, QUOTES = "/v1/datasets/clinic/releases", "/v1/datasets/clinic/quotes"


def written(epsilon: str, verb: str = "sql", words: str = f'"text": "{COUNT}"') -> bytes:
    return f'{{"verb": "{verb}", "words": {{{words}, "epsilon": {epsilon}}}}}'.encode()


SAME = [
    "0.1",
    '"0.1"',
    '"1/10"',
    '{"number": "1/10"}',
    '{"real": "0.1"}',
    "1e-1",
    "0.10",
    "1E-01",
    "0.1000000000000000055",
]


def test_a_number_is_the_request_that_its_shortest_decimal_is(running: Running) -> None:
    token = running.token("decimal")
    entries, digests = set(), set()
    for epsilon in SAME:
        status, told, content = ask(running, "POST", RELEASES, written(epsilon), bearer(token))
        assert status == 200, content
        entries.add(told["dither-entry"])
    lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    digests = {line["digest"] for line in lines if line["person"] == "decimal"}
    assert (len(entries), len(digests)) == (1, 1)
    balance = running.curator.ledger.balance("clinic", "decimal")
    assert (balance.releases, str(balance.spent)) == (1, "epsilon = 0.1")


@pytest.mark.parametrize(
    "epsilon",
    [
        *(
            "NaN",
            "Infinity",
            "-Infinity",
            "nan",
            "1e400",
            "-1e400",
            "1e-400",
            "1e999999999",
            "1e-999999999",
            "0e999999",
        ),
        *("true", "false", "null", "-0.1", "0.0", "-0.0", "0", "[0.1]", '{"number": 0.1}', '{"real": 0.1}', ".1", "1."),
        *("0." + "1" * LONGEST_NUMBER, "9" * 500 + ".5", "+0.1", "0x1p-3", "1_0.1", '"NaN"', '"inf"', '"1e400"', '""'),
    ],
)
def test_what_is_no_loss_is_refused(running: Running, epsilon: str) -> None:
    token = running.token("no loss")
    for path in (RELEASES, QUOTES):
        status, _, content = ask(running, "POST", path, written(epsilon), bearer(token))
        assert (status, json.loads(content)["title"][:7]) in ((400, "Invalid"), (400, "LossNot")), content
    assert running.curator.ledger.balance("clinic", "no loss").releases == 0


def test_losses_and_terms_take_numbers_as_well(running: Running) -> None:
    token = running.token("numbers", "curator")
    loss = {"kind": "pure", "epsilon": 0.1}

    def told(path: str, body: Any) -> Any:
        status, _, content = ask(running, "POST", f"/v1/datasets/clinic/{path}", body, bearer(token))
        assert status == 200, content
        return json.loads(content)

    assert told("room", {"loss": loss})["fits"]
    words = {"text": COUNT}
    both = told("quotes", {"verb": "sql", "words": words, "losses": [loss, {"kind": "pure", "epsilon": "1/10"}]})
    assert both["quotes"][0] == both["quotes"][1]
    running.people.add("granted", "analyst")
    granted = told("grants", {"person": "granted", "quota": loss, "most": loss, "allowance": {"each": 0.05, "days": 7}})
    assert (granted["quota"]["epsilon"], granted["allowance"]) == ("1/10", {"each": "1/20", "days": 7})
    told("conversations", {"name": "talk", "words": {"table": "visits", "columns": ["ward"], "epsilon": 0.5}})
    question = {"questions": ["SELECT COUNT(*) FROM visits"], "confidence": 0.9}
    assert len(told("conversations/talk/questions", question)["answers"]) == 1
    bad: list[Any] = [{"each": True, "days": 7}, {"each": None, "days": 7}, {"each": [0.1], "days": 7}]
    for allowance in bad:
        body = {"person": "granted", "quota": loss, "allowance": allowance}
        assert ask(running, "POST", "/v1/datasets/clinic/grants", body, bearer(token))[0] == 400


def test_other_words_take_numbers_as_python_does(running: Running) -> None:
    token = running.token("words")
    table = '"table": "visits", "columns": "waited", "bins"'
    good = written("0.5", "histogram", f"{table}: [0, 10.5, 20.25, 100]")
    same = written("0.5", "histogram", f'{table}: [0, {{"real": "10.5"}}, {{"real": "20.25"}}, 100]')
    entries = {ask(running, "POST", RELEASES, body, bearer(token))[1]["dither-entry"] for body in (good, same)}
    assert len(entries) == 1
    # A number of bins is an integer, and 4.0 is none.
    assert ask(running, "POST", RELEASES, written("0.5", "histogram", f"{table}: 4.0"), bearer(token))[0] == 400


@pytest.mark.parametrize("text", ["1e308", "5e-324", "-2.5e-3", "0.0", "-0.0", "0e5", "1E+2"])
def test_a_double_is_read_as_it_is_written(text: str) -> None:
    found = read_object(f'{{"a": {text}}}'.encode())["a"]
    assert (type(found), found) == (float, float(text))


def test_a_refusal_names_the_number_shortly() -> None:
    with pytest.raises(InvalidParameter, match="a double holds") as refused:
        read_object(b'{"a": 0.' + b"1" * 10**6 + b"}")
    assert len(str(refused.value)) < 200
