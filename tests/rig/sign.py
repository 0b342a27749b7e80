"""Signs messages with dkimpy: one JSON object a line in, one a line out.

In: message (base64), domain, selector, key (PEM, or base64 for Ed25519),
algorithm, headers (the names for h=), canonicalize ("relaxed/simple"), length
(whether l= is given), time (what t= is to be, null: no t=).
Out: the DKIM-Signature field with its line end (base64).
"""

import base64
import json
import sys

import dkim


class Signer(dkim.DKIM):
    """dkimpy always writes t= of the clock; some senders write none."""

    time = None

    def gen_header(self, fields, *args, **kw):
        if self.time is None:
            fields[:] = [f for f in fields if f[0] != b"t"]
        else:
            stamp = (b"t", str(self.time).encode())
            fields[:] = [stamp if f[0] == b"t" else f for f in fields]
        return super().gen_header(fields, *args, **kw)


def sign(job):
    signer = Signer(base64.b64decode(job["message"]))
    signer.time = job["time"]
    signer.should_not_sign = set()
    return signer.sign(
        job["selector"].encode(),
        job["domain"].encode(),
        job["key"].encode(),
        signature_algorithm=job["algorithm"].encode(),
        canonicalize=tuple(c.encode() for c in job["canonicalize"].split("/")),
        include_headers=[h.encode() for h in job["headers"]],
        length=job["length"],
    )


for line in sys.stdin:
    field = sign(json.loads(line))
    print(base64.b64encode(field).decode(), flush=True)
