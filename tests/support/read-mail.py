"""Reads every message of a folder as Python's email package does: one line of JSON for each, in order of the names."""

import email
import email.policy
import json
import pathlib
import sys


def addresses(header):
    return [[one.display_name, one.addr_spec] for one in header.addresses]


def defects(message):
    found = [repr(defect) for part in message.walk() for defect in part.defects]
    return found + [f"{name}: {defect!r}" for name, value in message.items() for defect in value.defects]


def read(message):
    files = [part for part in message.walk() if part.get_content_disposition() is not None]
    return {
        "subject": message["Subject"],
        "from": addresses(message["From"]),
        "to": addresses(message["To"]),
        "message_id": message["Message-ID"],
        "references": message["References"].split(),
        "text": message.get_body(("plain",)).get_content(),
        "html": message.get_body(("html",)).get_content(),
        # Not `get_filename`, which takes quotes and angle brackets off a name.
        "files": [[part["Content-Disposition"].params["filename"], part.get_content_type()] for part in files],
        "contents": [part.get_payload(decode=True).hex() for part in files],
        "defects": defects(message),
    }


for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    content = path.read_bytes()
    try:
        print(json.dumps(read(email.message_from_bytes(content, policy=email.policy.default))))
    except Exception as error:
        raise ValueError(content) from error
