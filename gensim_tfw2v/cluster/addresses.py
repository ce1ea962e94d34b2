"""Addresses of tasks: ``host:port``, with brackets around the host if it is an IPv6 address."""

import ipaddress
import re

from gensim_tfw2v.messages import quoted

#: Pattern of a port of up to five digits. Python's ``\d`` also matches digits of other scripts.
_PORT = re.compile(r"[0-9]{1,5}")

#: Pattern of a URL's scheme, such as "http://".
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)

#: Pattern of four numbers with dots, which only an IPv4 address may have.
_FOUR_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+){3}")

#: Pattern of a host's name. It cannot begin with "-": ssh would read it as an option.
_HOST_NAME = re.compile(r"(?=.{1,253}$)\w[\w-]{0,62}(\.\w[\w-]{0,62})*\.?")


def address_advice(address: str) -> str:
    """Return what to write in place of an invalid address; empty if the address is valid."""
    if scheme := _SCHEME.match(address):
        return f"host:port, without {scheme[0]}"
    if user := address.rpartition("@")[0]:
        command = quoted(f"ssh -l {user}")
        return f"host:port without a user, and log in as one with --ssh {command}"
    if "".join(address.split()) != address:
        return "host:port, without blanks"
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        example = quoted(f"{address}:2222")
        return f"host:port, with a port from 1 to 65535, such as {example}"
    if ":" in host and not host.startswith("["):
        return "host:port, with IPv6 in brackets, such as '[::1]:2222'"
    if not _PORT.fullmatch(port) or not 0 < int(port) < 1 << 16:
        return "host:port, with a port from 1 to 65535"
    if not _is_host(host):
        return (
            "host:port, with a host's name (letters, digits and '-', at most 63 between dots) or "
            "address (IPv6 in brackets)"
        )
    return ""


def _is_host(host: str) -> bool:
    """Return whether a host is an IPv6 address in brackets, an IPv4 address or a valid name."""
    address_type: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]
    if host.startswith("[") and host.endswith("]"):
        address_type, text = ipaddress.IPv6Address, host[1:-1]
    elif _FOUR_NUMBERS.fullmatch(host):
        address_type, text = ipaddress.IPv4Address, host
    else:
        return bool(_HOST_NAME.fullmatch(host))
    try:
        address_type(text)
    except ValueError:
        return False
    return True
