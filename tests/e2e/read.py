"""Prints the fence of one message as both of Python's e-mail policies read it."""

import email
import email.policy
import json
import sys
from email.header import decode_header, make_header

raw = open(sys.argv[1], "rb").read()
modern = email.message_from_bytes(raw, policy=email.policy.default)
classic = email.message_from_bytes(raw)
json.dump(
    {
        "default": str(modern["Stile-Rendering"]),
        "compat32": str(make_header(decode_header(classic["Stile-Rendering"]))),
        "defects": [str(d) for d in modern["Stile-Rendering"].defects],
    },
    sys.stdout,
)
