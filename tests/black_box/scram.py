"""A SCRAM-SHA-256 client (RFC 5802, RFC 7677) of which a test chooses every part."""

import base64
import hashlib
import hmac
import os

from ber import integer, tlv


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


class Scram:
    """One exchange. `header` is what stands before the bare message, `data` what the channel is bound by."""

    def __init__(self, user, password, header=b"n,,", data=b"", nonce=None):
        self.password, self.header, self.data = password.encode(), header, data
        self.nonce = nonce or base64.b64encode(os.urandom(18))
        self.bare = b"n=" + user.encode().replace(b"=", b"=3D").replace(b",", b"=2C") + b",r=" + self.nonce

    def first(self):
        return self.header + self.bare

    def final(self, server_first, **changed):
        """The final message; `changed`: nonce, binding or proof in the place of the right ones."""
        parts = dict(part.split(b"=", 1) for part in server_first.split(b","))
        assert parts[b"r"].startswith(self.nonce) and len(parts[b"r"]) > len(self.nonce) + 20
        self.salt, self.count = base64.b64decode(parts[b"s"]), int(parts[b"i"])
        salted = hashlib.pbkdf2_hmac("sha256", self.password, self.salt, self.count)
        client_key = mac(salted, b"Client Key")
        binding = changed.get("binding", base64.b64encode(self.header + self.data))
        without_proof = b"c=" + binding + b",r=" + changed.get("nonce", parts[b"r"])
        signed = self.bare + b"," + server_first + b"," + without_proof
        signature = mac(hashlib.sha256(client_key).digest(), signed)
        proof = bytes(one ^ other for one, other in zip(client_key, signature))
        self.expected = b"v=" + base64.b64encode(mac(mac(salted, b"Server Key"), signed))
        return without_proof + b",p=" + base64.b64encode(changed.get("proof", proof))


def bind_request(mechanism, credentials, message_id=1):
    return tlv(0x30, integer(message_id), tlv(0x60, integer(3), tlv(4, b""), tlv(0xA3, tlv(4, mechanism), *([] if credentials is None else [tlv(4, credentials)]))))


def answer(message):
    """Result code and server credentials of a bind response; None if it has none."""
    at = message.index(b"\x0a\x01") + 2
    code, rest = message[at], message[at + 1 :]
    # matchedDN and the text.
    for _ in range(2):
        assert rest[0] == 4 and rest[1] < 128
        rest = rest[2 + rest[1] :]
    if not rest or rest[0] != 0x87:
        return code, None
    size, head = (rest[1], 2) if rest[1] < 128 else (rest[2], 3)
    return code, rest[head : head + size]
