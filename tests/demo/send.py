# Sends standard input as a message; signs it if the sender's domain has a key.
import smtplib
import sys
import time
from email.utils import formatdate, make_msgid

import dkim

sender, recipient = sys.argv[1], sys.argv[2]
subject = sys.argv[3] if len(sys.argv) > 3 else "hello"
message = (
    f"From: {sender}\nTo: {recipient}\nSubject: {subject}\nDate: {formatdate()}\n"
    f"Message-ID: {make_msgid(domain='client.example')}\n"
    "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n"
).encode() + sys.stdin.buffer.read()
message = message.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
domain = sender.rpartition("@")[2]
if domain in ("example.org", "evil.example"):
    message = dkim.sign(message, b"s1", domain.encode(), KEY.encode()) + message
host, port = ADDR.rsplit(":", 1)
try:
    with smtplib.SMTP(host, int(port)) as server:
        server.sendmail(sender, [recipient], message)
    print("250")
except smtplib.SMTPException as refusal:
    print(refusal)
    sys.exit(1)
