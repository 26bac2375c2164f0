"""Examples below the help of every verb, on the data set of ``dither demo``; a test reads each as it would be typed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_QUERY = '"SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"'
_HOURLY = '"SELECT ward, COUNT(*) AS visits FROM arrivals GROUP BY ward"'

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "": (
            "dither demo                              # private answers from a generated table, in a minute",
            f"dither sql clinic {_QUERY} --epsilon 0.1",
            "dither catalog --task median             # which algorithm for what",
            "dither --install-completion              # complete verbs, options and data sets in your shell",
        ),
        "catalog": (
            "dither catalog                           # tasks, and what to take for each",
            "dither catalog --task histogram",
            "dither catalog wavelet                   # all that mention it",
            "dither catalog --all",
            "dither catalog --sources sparse          # what print describes, and what differs here",
            "dither catalog dawa --card               # eleven fields about one mechanism or verb",
        ),
        "explain": ("dither explain geometric", "dither explain dawa --json"),
        "audit": (
            "dither audit laplace",
            "dither audit randomised-response --samples 1000000 --report evidence.html",
            "dither audit noise",
        ),
        "report-location": (
            "dither report-location 48.8584 2.2945 --epsilon-per-metre 0.005 --box 48.7,2.1,49.0,2.6 --limit 0.5",
            "dither report-location 48.8606 2.3376 --epsilon-per-metre 0.005      # the file remembers the box",
            "dither report-location --again                                       # the last report, at no cost",
        ),
        "survey": (
            'dither survey new colours.json --question "Which colour?" --answers red,green,blue --epsilon 1',
            "dither survey show colours.json",
        ),
        "survey new": (
            'dither survey new colours.json --question "Which colour?" --answers red,green,blue --epsilon 1',
            'dither survey new ages.json --question "How old are you?" --range 0..120 --epsilon 2',
        ),
        "survey show": ("dither survey show colours.json",),
        "survey answer": (
            "dither survey answer colours.json red --cap 4",
            "dither survey answer colours.json red --send http://127.0.0.1:8078",
        ),
        "collect": ("dither collect colours.json", "dither collect colours.json --host 0.0.0.0 --port 80 --rate 50"),
        "estimate": (
            "dither estimate colours.json",
            "dither estimate colours.json --together --tidy simplex --plot colours.html",
        ),
        "specimens": ("dither specimens", "dither specimens gain-ratio"),
        "demo": ("dither demo", "dither demo --out report.html", "dither demo --stream", "dither demo --ask"),
        "attack": ("dither attack list", "dither attack known-set -o known-set.html"),
        "init": ("dither init clinic", "dither init clinic --ledger postgresql://curator@db/ledger"),
        "add": (
            "dither add visits.csv --budget 2              # shows all columns, and asks what is public",
            "dither add visits.csv --person patient --rows 4 --groups 1 --range cost=0..1000 --budget 2",
            "dither add --suggest visits.csv -o visits.yaml",
            "dither add visits.yaml --budget 2 --delta 1e-5",
        ),
        "check": ("dither check clinic                       # exit code 1 if the rows do not fit the schema",),
        "answer": ("dither answer 12", "dither answer 12 -o answer.csv"),
        "datasets": (
            "dither datasets",
            "dither datasets --home dither-demo/home --json",
            "dither datasets --server http://127.0.0.1:8077",
        ),
        "datasets raise-budget": (
            'dither datasets raise-budget clinic --epsilon 3 --reason "the ethics board agreed to a second study"',
        ),
        "datasets set-quota": ("dither datasets set-quota clinic ana --epsilon 0.5",),
        "datasets open": ("dither datasets open clinic",),
        "datasets pause": ('dither datasets pause clinic --reason "found a mistake in the file"',),
        "datasets close": ('dither datasets close clinic --reason "the study is over"',),
        "approvals": ("dither approvals list --waiting", "dither approvals approve 12"),
        "published": ("dither published list", 'dither published add 12 --title "Visits by ward"'),
        "approvals list": ("dither approvals list --waiting",),
        "approvals approve": ("dither approvals approve 12", "dither approvals approve 12 --as boss"),
        "approvals decline": ('dither approvals decline 12 --because "ask for whole weeks"',),
        "published list": ("dither published list",),
        "published add": ('dither published add 12 --title "Visits by ward"',),
        "published state": ("dither published state clinic", "dither published state clinic -o stated.json"),
        "published withdraw": ('dither published withdraw 12 --because "its title was wrong"',),
        "datasets rename": ("dither datasets rename clinic clinic_2024",),
        "datasets retire": ('dither datasets retire clinic --reason "the study is over"',),
        "datasets history": ("dither datasets history clinic",),
        "card": ("dither card clinic", "dither card clinic -o card.yaml"),
        "sql": (
            f"dither sql clinic {_QUERY} --epsilon 0.1",
            f"dither sql clinic {_QUERY} --epsilon 0.1 --quote",
            'dither sql clinic "SELECT MEDIAN(waited) AS typical FROM visits" --epsilon 0.1 -o typical.csv',
            'dither sql clinic "SELECT SUM(CLAMP(waited, AUTO)) AS minutes FROM visits" --epsilon 0.5 --quote',
            'dither sql clinic "SELECT complaint, COUNT(*) AS visits FROM visits GROUP BY complaint" '
            "--epsilon 0.2 --delta 1e-6",
        ),
        "shell": (
            "dither shell clinic                      # .help says the rest",
            "dither shell clinic --epsilon 0.1 --yes < queries.sql > answers.txt",
        ),
        "quote": (
            f"dither quote clinic {_QUERY} --epsilon 0.1",
            f"dither quote clinic {_QUERY} --target visits=50",
        ),
        "bounds": (
            "dither bounds clinic visits waited --epsilon 0.1",
            "dither bounds clinic visits waited --epsilon 0.1 --quote",
        ),
        "limits": (
            "dither limits clinic visits --epsilon 0.1",
            "dither limits clinic visits --share 0.9 --most 16 --epsilon 0.1",
            "dither limits clinic visits --drops 4 --most 64 --epsilon 0.1",
        ),
        "synthesize": (
            "dither synthesize clinic visits --columns age,region,ward --epsilon 1 --delta 1e-6 -o made.csv",
            "dither synthesize clinic visits --columns age,region,ward --epsilon 1 --delta 1e-6 --quote",
        ),
        "anonymize": (
            "dither anonymize clinic visits --columns region,ward --epsilon 1 -o rows.csv",
            "dither anonymize clinic visits --method kept-table --ask ward=oncology --epsilon 0.1",
        ),
        "disguise": (
            "dither disguise visits.csv --quasi age,region --sensitive ward --k 5 --l 3 "
            "-o shown.csv --report shown.html",
            "dither disguise totals sales.csv --by town,trade --value turnover --threshold 3 -o shown.csv",
        ),
        "disguise table": (
            "dither disguise table visits.csv --quasi age,region --sensitive ward --k 5 --l 3 "
            "-o shown.csv --report shown.html",
            "dither disguise table visits.csv --quasi age,region --k 5 --method optimal --hierarchies levels.yaml "
            "-o shown.csv",
        ),
        "disguise cells": (
            "dither disguise cells visits.csv --method rank-swapping --columns age --width 0.05 -o shown.csv",
            "dither disguise cells visits.csv --method post-randomisation --columns ward --keep 0.8 -o shown.csv",
        ),
        "disguise anatomy": (
            "dither disguise anatomy visits.csv --quasi age,region --sensitive ward --l 3 "
            "-o people.csv --values wards.csv",
        ),
        "disguise slices": (
            "dither disguise slices visits.csv --quasi age,region --sensitive ward --l 2 -o shown.csv",
            'dither disguise slices visits.csv --quasi age,region --sensitive ward --l 2 --together "age;region,ward" '
            "-o shown.csv",
        ),
        "disguise totals": (
            "dither disguise totals sales.csv --by town,trade --value turnover --threshold 3 --p-percent 10 "
            "-o shown.csv",
            "dither disguise totals sales.csv --by town,trade --value turnover --round 5 -o shown.csv",
        ),
        "disguise baskets": ("dither disguise baskets items.csv --k 5 --m 2 --hierarchy kinds.csv -o shown.csv",),
        "disguise join": (
            "dither disguise join clinic.csv insurer.csv --person id --quasi age,region,tariff --k 5 -o joined.csv",
        ),
        "disguise releases": (
            "dither disguise releases may.csv june.csv --person id --quasi age,region --sensitive ward",
        ),
        "disguise guards": (
            "dither disguise guards people.csv --quasi age,region --sensitive ward --guard hides --hierarchy wards.csv",
        ),
        "disguise freeform": (
            "dither disguise freeform visits.csv --observable age,region --observable ward=flu,cold --most 2",
        ),
        "disguise matrix": (
            "dither disguise matrix readings.csv --method rotation --blur 0.5 --known 4 -o shown.csv",
            "dither disguise matrix readings.csv --method ranks --kept 5 --restore -o shown.csv",
        ),
        "disguise network": (
            "dither disguise network roads.csv --method paths --pairs pairs.csv -o shown.csv",
            "dither disguise network roads.csv --method alike --k 3 --mu 0.5 --directed -o shown.csv",
        ),
        "disguise walks": ("dither disguise walks roads.csv --theta 20 --pairs pairs.csv -o lengths.csv",),
        "risk": (
            "dither risk visits.csv --quasi age,region --sensitive ward",
            "dither risk shown.csv --quasi age,region --population register.csv --report risk.html",
        ),
        "fit": (
            "dither fit clinic visits waited --features age --epsilon 1 -o waited.json",
            "dither fit clinic visits waited --model LinearRegression --features age --epsilon 1 --quote",
        ),
        "predict": ("dither predict model.json mine.csv -o predicted.csv",),
        "release": ("dither release clinic method.json --quote", "dither release clinic method.json -o value.json"),
        "publish": (
            "dither publish histogram clinic visits ward --epsilon 0.2 --quote",
            "dither publish marginals clinic visits ward ward,region --epsilon 1 -o tables.csv",
        ),
        "ask": (
            "dither ask clinic wards --columns ward,region --epsilon 1 --quote",
            "dither ask clinic wards --columns ward,region --epsilon 1",
            "dither ask clinic wards \"ward = 'oncology'\" \"region = 'north' AND ward <> 'oncology'\"",
            "dither ask clinic wards --answers     # what was answered so far",
        ),
        "stream": (
            f"dither stream open arrivals hourly {_HOURLY} --epsilon 1",
            "dither stream release arrivals hourly     # what has ended since the last time",
            "dither stream show arrivals hourly -o hourly.html",
        ),
        "stream open": (
            f"dither stream open arrivals hourly {_HOURLY} --epsilon 1 --quote",
            f"dither stream open arrivals hourly {_HOURLY} --epsilon 1",
        ),
        "stream feed": ("dither stream feed arrivals hourly monday.csv --batch monday",),
        "stream release": ("dither stream release arrivals hourly", "dither stream release arrivals hourly -o new.csv"),
        "stream show": ("dither stream show arrivals", "dither stream show arrivals hourly -o hourly.html"),
        "stream close": ("dither stream close arrivals hourly",),
        "graph": (
            "dither graph friends triangles --epsilon 1 --quote",
            "dither graph friends stars --k 3 --epsilon 1",
            "dither graph friends clustering --epsilon 1 --delta 1e-6",
            "dither graph friends degrees --epsilon 1 -o degrees.csv --plot",
            "dither graph friends synthesize --epsilon 2 -o synthetic.csv --plot",
        ),
        "places": (
            "dither places checkins heatmap --epsilon 1 --cell 500 --quote",
            "dither places checkins heatmap --epsilon 1 --cell 500 --levels 10,50,200 -o map.html",
            "dither places checkins contour --epsilon 1 --grid 64 --levels 10,50,200 -o lines.geojson",
            "dither places rides flows --epsilon 1 -o flows.csv",
            "dither places trips synthesize --epsilon 2 -o journeys.geojson",
        ),
        "publish histogram": (
            "dither publish histogram clinic visits ward --epsilon 0.2",
            "dither publish histogram clinic visits waited --bins 20 --epsilon 0.5 -o waited.csv --plot",
        ),
        "publish count": (
            "dither publish count clinic visits --share 0.05 --epsilon 1 --quote",
            "dither publish count clinic visits --where \"ward = 'oncology'\" --share 0.1 --epsilon 1",
        ),
        "publish workload": (
            "dither publish workload clinic visits waited --bins 20 --queries prefixes --epsilon 0.5",
            "dither publish workload clinic visits age --range 0:17 --range 18:64 --epsilon 0.2",
        ),
        "publish marginals": ("dither publish marginals clinic visits ward ward,region --epsilon 1 -o tables.csv",),
        "serve": ("dither serve --demo", "dither serve --port 8077", "dither serve --check"),
        "people": (
            "dither people add ana --role analyst",
            "dither people grant ana clinic --quota 0.5",
        ),
        "people add": ("dither people add ana --role analyst",),
        "people grant": ("dither people grant ana clinic --quota 0.5 --most 0.1",),
        "people revoke": ("dither people revoke ana clinic", "dither people revoke ana"),
        "people list": ("dither people list",),
        "receipt": (
            "dither receipt show 6 -o receipt.json",
            "dither receipt verify receipt.json --key curator.pub",
        ),
        "receipt show": ("dither receipt show 6 -o receipt.json",),
        "receipt verify": (
            "dither receipt verify receipt.json --key curator.pub",
            "dither receipt verify receipt.json --key curator.pub --answer answer.json",
        ),
        "receipt key": ("dither receipt key -o curator.pub",),
        "receipt checkpoint": (
            "dither receipt checkpoint",
            "dither receipt checkpoint --server https://dither.example -o head.txt",
        ),
        "receipt cosigned": ("dither receipt cosigned head.txt --key curator.pub --witness observer.pub",),
        "receipt new-key": ("dither receipt new-key", "dither receipt new-key --lost"),
        "receipt export-key": ("dither receipt export-key curator.sealed",),
        "receipt import-key": ("dither receipt import-key curator.sealed",),
        "login": ("dither login https://dither.example.org",),
        "witness": (
            "dither witness http://127.0.0.1:8077 --keep ledger.note",
            "dither witness http://127.0.0.1:8077 --keep ledger.note --cosign my.key --name observer -o head.txt",
        ),
        "token": ("dither token new ana", "dither token list"),
        "token new": ("dither token new ana --days 30",),
        "token list": ("dither token list",),
        "token revoke": ("dither token revoke 921646423774d4ef",),
        "ledger": ("dither ledger show", "dither ledger verify"),
        "ledger show": (
            "dither ledger show clinic",
            "dither ledger show clinic --epsilon 0.5          # exit code 1 if that would not fit",
        ),
        "ledger verify": ("dither ledger verify",),
        "ledger export": ("dither ledger export clinic -o ledger.jsonl",),
        "bench": ("dither bench histograms --scales 10000 --epsilons 0.1,1",),
        "bench histograms": ("dither bench histograms --scales 10000 --domains 256 --epsilons 0.1,1 --repeats 3",),
        "bench workloads": ("dither bench workloads --epsilons 1",),
        "bench marginals": ("dither bench marginals --epsilons 1",),
        "bench learn": ("dither bench learn --epsilons 0.1,1",),
    }
)
