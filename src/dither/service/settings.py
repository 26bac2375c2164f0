"""How a service is set up: the section ``service:`` of ``dither.yaml``, and variables that stand above it."""

from __future__ import annotations

import dataclasses
import difflib
import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from dither.data.addresses import has_secret, redact
from dither.errors import InvalidParameter
from dither.service.pace import Timing

PREFIX: Final = "DITHER_SERVICE_"
_SECTION: Final = "service"
_DATABASES: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Settings:
    """How a service is set up.

    Args:
        host: the address it listens at.
        port: and the port.
        timing: when answers are sent: "buckets", "strict 2s", "strict 2s, fit 60s", or "off".
        answers: "own", or "team" where what one person was answered is given to others who ask the same.
        releasing: how many releases run at once, in all processes together; 0 for the number of cores and two.
        requests_per_second: how many requests one person may make.
        largest_table: how many cells a table of counts may have that is planned here; planning takes time before there
            is a price.
        planning_seconds: how many seconds of computing one request may take before it has a price.
        workers: how many processes share the address and the ledger.
        metrics: the port at which this machine alone is told numbers for Prometheus; 0 for none.
        patience: for how many seconds a service that is stopped waits for what is debited.
        proxy: the name of what stands in front and speaks TLS; needed outside of this machine without a certificate.
        certificate: a file of a certificate, for TLS.
        key: and the file of its key.
        address: where browsers find the service, such as https://dither.example.org; needed for sign-in at an issuer.
        oidc_issuer: the address of an issuer of OpenID Connect at which people sign in.
        oidc_client: what the service is called there.
        oidc_secret: a file with the client's secret, where it has one.
        roots: folders below which curators elsewhere can name files of rows to add; none unless said.
        databases: addresses of databases whose tables they can name, by name.

    """

    host: str = "127.0.0.1"
    port: int = 8077
    timing: str = "buckets"
    answers: str = "own"
    releasing: int = 0
    requests_per_second: int = 100
    largest_table: int = 2**18
    planning_seconds: int = 10
    workers: int = 1
    metrics: int = 0
    patience: int = 30
    proxy: str = ""
    certificate: str = ""
    key: str = ""
    address: str = ""
    oidc_issuer: str = ""
    oidc_client: str = ""
    oidc_secret: str = ""
    roots: Sequence[str] = ()
    databases: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no service can be set up with; each refusal names the setting."""
        Timing.read(self.timing)
        _one_of("answers", self.answers, ("own", "team"))
        for name, least, most in (("port", 0, 65535), ("releasing", 0, 1024), ("requests_per_second", 1, 100_000)):
            _whole(name, getattr(self, name), least, most)
        _whole("patience", self.patience, 0, 3600)
        _whole("largest_table", self.largest_table, 1, 2**50)
        _whole("planning_seconds", self.planning_seconds, 1, 3600)
        _whole("workers", self.workers, 1, 64)
        _whole("metrics", self.metrics, 0, 65535)
        oidc = ("address", "oidc_issuer", "oidc_client", "oidc_secret")
        for name in ("host", "proxy", "certificate", "key", *oidc):
            if not isinstance(getattr(self, name), str):
                raise InvalidParameter(name, getattr(self, name), "a string")
        if any(bool(getattr(self, name)) != bool(self.oidc_issuer) for name in ("address", "oidc_client")):
            raise InvalidParameter("oidc_issuer", self.oidc_issuer, "set together with oidc_client and address")
        for name in ("address", "oidc_issuer"):
            place = getattr(self, name)
            if place and not is_safe_address(place):
                rule = "an address that begins with https, or one of this machine, without a slash at its end"
                raise InvalidParameter(name, place, rule)
        self._check_rows_that_can_be_named()
        if bool(self.certificate) != bool(self.key):
            raise InvalidParameter("certificate", self.certificate, "set together with key")
        if not self.is_local and not self.certificate and not self.proxy:
            rule = (
                "an address of this machine alone, unless certificate and key are given, or proxy names what speaks TLS"
            )
            raise InvalidParameter("host", self.host, rule)

    def _check_rows_that_can_be_named(self) -> None:
        if isinstance(self.roots, str) or not all(isinstance(root, str) for root in self.roots):
            raise InvalidParameter("roots", self.roots, "a list of folders")
        for root in self.roots:
            if not Path(root).is_absolute() or not Path(root).is_dir():
                raise InvalidParameter("roots", root, "a list of existing folders, as absolute paths")
        if not isinstance(self.databases, Mapping):
            raise InvalidParameter("databases", self.databases, "addresses by name")
        for name, address in self.databases.items():
            if not isinstance(name, str) or not name.isidentifier() or not isinstance(address, str):
                raise InvalidParameter("databases", name, "addresses by name, such as clinic: postgresql://...")
            if not address.startswith(_DATABASES) or has_secret(address):
                rule = "the address of a PostgreSQL database, with ${NAME} in place of a password"
                raise InvalidParameter(f"databases.{name}", redact(address), rule)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain data."""
        return {**dataclasses.asdict(self), "roots": list(self.roots), "databases": dict(self.databases)}


def read_settings(
    section: Mapping[str, Any], given: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings of a folder's service, refusing those that are not known or not right.

    Args:
        section: as for ``stated_settings``.
        given: likewise.
        environment: likewise.

    """
    said = stated_settings(section, given, environment)
    fields = [field.name for field in dataclasses.fields(Settings)]
    unknown = sorted(set(said) - set(fields))
    if unknown:
        near = difflib.get_close_matches(unknown[0], fields, 1)
        fix = f"remove it, or write {near[0]!r}" if near else "remove it"
        raise InvalidParameter(_SECTION, unknown[0], f"made of {', '.join(fields)}: {fix}")
    return Settings(**said)


def stated_settings(
    section: Mapping[str, Any], given: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Return what is said of a folder's service, by name, whether it makes sense or not.

    Args:
        section: what ``dither.yaml`` says under ``service``.
        given: what was typed, by name; None where nothing was.
        environment: variables; ``DITHER_SERVICE_PORT`` stands above ``port`` of the file.

    >>> stated_settings({"oidc issuer": "a", "port": 1}, {}, {"DITHER_SERVICE_PORT": "2"})
    {'oidc_issuer': 'a', 'port': 2}

    """
    said: dict[str, Any] = {str(name).replace(" ", "_"): value for name, value in section.items()}
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    for variable, text in environment.items():
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).lower()
            is_number = name in fields and isinstance(fields[name].default, int)
            said[name] = int(text) if is_number and text.isascii() and text.isdecimal() else text
            if name == "roots":
                said[name] = [root for root in text.split(os.pathsep) if root]
            elif name == "databases":
                said[name] = {one.partition("=")[0]: one.partition("=")[2] for one in text.split()}
    return said | {name: value for name, value in given.items() if value is not None}


def is_safe_address(place: str) -> bool:
    """Whether what is sent to an address is read by nobody on the way.

    >>> is_safe_address("https://login.example"), is_safe_address("http://login.example")
    (True, False)
    """
    parts = urlsplit(place)
    is_local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    is_plain = not (parts.query or parts.fragment or parts.username or place.endswith("/"))
    return (parts.scheme == "https" or is_local) and bool(parts.hostname) and is_plain


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidParameter(name, value, f"one of {', '.join(choices)}")


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidParameter(name, value, f"an integer from {least} to {most}")
