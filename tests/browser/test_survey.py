"""A real browser answers the page of a survey and posts its report; it arrives among those of simulated devices."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dither.local.document import Report
from dither.local.domains import Categories
from dither.local.frequencies import KaryResponse
from dither.privacy import PureDP
from dither.service.collector import Collector
from dither.service.report_store import ReportStore
from dither.testing.devices import simulated_reports
from tools.browser.looking import absent

pytestmark = pytest.mark.skipif(absent() is not None, reason=str(absent()))
_DOCUMENT = KaryResponse.calibrated(PureDP(1), categories=3).document(
    "Which <colour>?", Categories(("red", "green", "other"), "other")
)


def test_a_browser_answers_and_repeats_its_report(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    from tools.browser.looking import _SWITCHES, chromium

    with ReportStore(tmp_path / "some.reports", _DOCUMENT) as store:
        store.add(simulated_reports(_DOCUMENT, ["red"] * 500))
        collector = Collector(store)
        thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        sent: list[str] = []
        try:
            with sync_playwright() as play:
                started = play.chromium.launch(executable_path=str(chromium()), args=list(_SWITCHES))
                try:
                    page = started.new_page()
                    page.on("request", lambda asked: sent.append(asked.post_data or "") if asked.post_data else None)
                    for answer in ("green", "red"):
                        page.goto(collector.address)
                        page.wait_for_selector("form[data-ready]")
                        assert page.locator("h1").inner_text() == "Which <colour>?"
                        assert "epsilon 1.000" in page.locator("#promise").inner_text()
                        page.get_by_label(answer).check()
                        page.get_by_role("button").click()
                        page.locator("#status", has_text="Sent. Thank you.").wait_for()
                finally:
                    started.close()
        finally:
            collector.shutdown()
            thread.join()
            collector.close()
        # The second answer was another one: the same report came again, and counts once.
        assert len(sent) == 2
        assert len(set(sent)) == 1
        known = Report.parse(sent[0])
        assert known is not None
        assert known.digest == _DOCUMENT.digest
        assert store.estimator().reports == 501
        assert store.dropped()["repeated"] == 1
