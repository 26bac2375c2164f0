"""How a service is set up: the section ``service:`` of ``dither.yaml``, and variables that stand above it."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.service.pace import WAYS

PREFIX: Final = "DITHER_SERVICE_"
_SECTION: Final = "service"


@dataclass(frozen=True)
class Settings:
    """How a service is set up.

    Args:
        host: the address it listens at.
        port: and the port.
        timing: when answers are sent: "buckets", or "off".
        answers: "own", or "team" where what one person was answered is given to others who ask the same.
        releasing: how many releases run at once; 0 for the number of cores and two.
        requests_per_second: how many requests one person may make.
        largest_table: how many cells a table of counts may have that is planned here; planning takes time before there
            is a price.
        patience: for how many seconds a service that is stopped waits for what is debited.
        proxy: the name of what stands in front and speaks TLS; needed outside of this machine without a certificate.
        certificate: a file of a certificate, for TLS.
        key: and the file of its key.

    """

    host: str = "127.0.0.1"
    port: int = 8077
    timing: str = "buckets"
    answers: str = "own"
    releasing: int = 0
    requests_per_second: int = 100
    largest_table: int = 2**18
    patience: int = 30
    proxy: str = ""
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        """Refuse what no service can be set up with; each refusal names the setting."""
        _one_of("timing", self.timing, WAYS)
        _one_of("answers", self.answers, ("own", "team"))
        for name, least, most in (("port", 0, 65535), ("releasing", 0, 1024), ("requests_per_second", 1, 100_000)):
            _whole(name, getattr(self, name), least, most)
        _whole("patience", self.patience, 0, 3600)
        _whole("largest_table", self.largest_table, 1, 2**50)
        for name in ("host", "proxy", "certificate", "key"):
            if not isinstance(getattr(self, name), str):
                raise InvalidParameter(name, getattr(self, name), "a text")
        if bool(self.certificate) != bool(self.key):
            raise InvalidParameter("certificate", self.certificate, "given together with key")
        if not self.is_local and not self.certificate and not self.proxy:
            rule = (
                "an address of this machine alone, unless certificate and key are given, or proxy names what speaks TLS"
            )
            raise InvalidParameter("host", self.host, rule)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain data."""
        return dataclasses.asdict(self)


def read_settings(
    section: Mapping[str, Any], given: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings of a folder's service.

    Args:
        section: what ``dither.yaml`` says under ``service``.
        given: what was typed, by name; None where nothing was.
        environment: variables; ``DITHER_SERVICE_PORT`` stands above ``port`` of the file.

    """
    said: dict[str, Any] = {str(name).replace(" ", "_"): value for name, value in section.items()}
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    for variable, text in environment.items():
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).lower()
            is_number = name in fields and isinstance(fields[name].default, int)
            said[name] = int(text) if is_number and text.isascii() and text.isdecimal() else text
    said |= {name: value for name, value in given.items() if value is not None}
    unknown = sorted(set(said) - set(fields))
    if unknown:
        raise InvalidParameter(_SECTION, unknown[0], f"made of {', '.join(fields)}")
    return Settings(**said)


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidParameter(name, value, f"one of {', '.join(choices)}")


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidParameter(name, value, f"a whole number from {least} to {most}")
