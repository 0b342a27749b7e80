"""Prints stile's fields as Python's e-mail policies see them in files, and in
the mailbox that the IMAP server of the command serves."""

import email
import email.policy
import imaplib
import json
import sys
from email.header import decode_header, make_header

POLICIES = {"compat32": email.policy.compat32, "default": email.policy.default}


def decoded(policy, name, value):
    if name.lower() == "stile-rendering" and policy == "compat32":
        return str(make_header(decode_header(value)))
    return str(value)


def ours(raw):
    """For each policy the fields in their order, with the names above them."""
    seen = {}
    for policy, how in POLICIES.items():
        message = email.message_from_bytes(raw, policy=how)
        fields = [
            {"name": name, "value": decoded(policy, name, value), "at": at}
            for at, (name, value) in enumerate(message.items())
            if "stile-" in name.lower()
        ]
        seen[policy] = {"fields": fields, "names": message.keys(), "id": str(message["Message-ID"]).strip()}
    return seen


def whole(answer):
    return next(part[1] for part in answer if isinstance(part, tuple))


def imap(command):
    server = imaplib.IMAP4_stream(command)
    seen = []
    server.select(readonly=True)
    server.noop()  # looks for new mail
    for number in server.search(None, "ALL")[1][0].split():
        body = ours(whole(server.fetch(number, "(BODY.PEEK[])")[1]))
        header = ours(whole(server.fetch(number, "(BODY.PEEK[HEADER])")[1]))
        fields = ours(whole(server.fetch(number, "(BODY.PEEK[HEADER.FIELDS (STILE-VERDICT STILE-RENDERING STILE-SEAL MESSAGE-ID)])")[1]))
        seen.append({
            "body, " + p: body[p] for p in POLICIES
        } | {
            "header, " + p: header[p] for p in POLICIES
        } | {
            "fields, " + p: fields[p] for p in POLICIES
        })
    server.logout()
    return seen


files = [ours(open(name, "rb").read()) for name in sys.argv[2:]]
json.dump({"files": files, "imap": imap(sys.argv[1])}, sys.stdout)
