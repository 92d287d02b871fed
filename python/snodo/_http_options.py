"""Where and for whom HTTP is served, as the one value that Rust takes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from ._snodo import HttpOptions

    Path = str | PathLike[str]


def http_options(
    *,
    host: str,
    port: int,
    path: str,
    allowed_hosts: Sequence[str] | None,
    allowed_origins: Sequence[str] | None,
    legacy_sse: bool,
    uds: Path | None,
    ssl_certfile: Path | None,
    ssl_keyfile: Path | None,
    ssl_keyfile_password: str | None,
    ssl_ca_certs: Path | None,
) -> HttpOptions:
    """Give the options of `Server.run` together.

    Raises:
        ConfigurationError: If files of TLS say nothing without another one.
    """
    return {
        "host": host,
        "port": port,
        "path": path,
        "allowed_hosts": list(allowed_hosts or ()),
        "allowed_origins": list(allowed_origins or ()),
        "legacy_sse": legacy_sse,
        "uds": None if uds is None else str(uds),
        "tls": _tls_files(ssl_certfile, ssl_keyfile, ssl_keyfile_password, ssl_ca_certs),
    }


class TlsFiles:
    """The files that say who a server is, and whom it takes."""

    __slots__ = ("ca_certs", "certfile", "keyfile", "keyfile_password")

    def __init__(
        self,
        certfile: str,
        keyfile: str | None,
        keyfile_password: str | None,
        ca_certs: str | None,
    ) -> None:
        self.certfile = certfile
        self.keyfile = keyfile
        self.keyfile_password = keyfile_password
        self.ca_certs = ca_certs


def _tls_files(
    certfile: Path | None,
    keyfile: Path | None,
    keyfile_password: str | None,
    ca_certs: Path | None,
) -> TlsFiles | None:
    """Give the files of TLS; None if there are none.

    Raises:
        ConfigurationError: If the most important one is missing.
    """
    if certfile is None:
        if (keyfile, keyfile_password, ca_certs) == (None, None, None):
            return None
        raise ConfigurationError(
            "ssl_keyfile, ssl_keyfile_password and ssl_ca_certs say nothing without ssl_certfile"
        )
    return TlsFiles(
        os.fspath(certfile),
        None if keyfile is None else os.fspath(keyfile),
        keyfile_password,
        None if ca_certs is None else os.fspath(ca_certs),
    )
