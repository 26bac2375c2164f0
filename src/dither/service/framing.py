"""Where a request ends: one that two readers could end at two places is refused before anything reads it.

A proxy that goes by one of two lengths, in front of a server that goes by the other, hands over a second request that
nobody has checked. RFC 9112, section 6.1, lets a server refuse such a request and close the connection. h11 refuses
lengths that differ, a length that is no number, and any transfer coding but ``chunked``; the rest is refused here.
"""

from __future__ import annotations

from typing import Any

import h11


class Framed(h11.Connection):
    """The server's side of a connection, which takes no request with two lengths."""

    def next_event(self) -> Any:
        """Return the next event; a request whose end is in doubt is a protocol error."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            # HTTP/1.0 has no transfer codings: what stands between may pass on the header and not understand it.
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("a request with two lengths, or with a coding that its version lacks")
        return event
