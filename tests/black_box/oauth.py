"""An issuer of access tokens: its keys by the openssl command, and what it signs."""

import base64
import json
import subprocess

from conftest import run


def text(octets):
    """base64url without padding."""
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def sign(*args, message):
    return subprocess.run(["openssl", *map(str, args)], input=message, capture_output=True, check=True).stdout


def fixed(der):
    """The two numbers of an ECDSA signature, 32 octets each."""
    at, numbers = 2, []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
        at += 2 + length
    return b"".join(numbers)


class Issuer:
    """Keys of three kinds, `r`, `e` and `d`, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        run("openssl", "genrsa", "-out", folder / "r", "2048")
        run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder / "e")
        run("openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "d")

    def public(self, name):
        return sign("pkey", "-in", self.folder / name, "-pubout", "-outform", "DER", message=b"")

    def keys(self):
        """As a JSON Web Key Set."""
        modulus = run("openssl", "rsa", "-in", self.folder / "r", "-noout", "-modulus").out.strip().split("=")[1]
        x, y = self.public("e")[-64:-32], self.public("e")[-32:]
        return json.dumps({"keys": [
            {"kty": "RSA", "kid": "r", "n": text(bytes.fromhex(modulus)), "e": "AQAB"},
            {"kty": "EC", "kid": "e", "crv": "P-256", "x": text(x), "y": text(y)},
            {"kty": "OKP", "kid": "d", "crv": "Ed25519", "x": text(self.public("d")[-32:])},
        ]})

    def token(self, claims, kid="e", header=None, signature=None):
        """Signed by a key, or by what is given."""
        algorithm = {"r": "RS256", "e": "ES256", "d": "EdDSA"}.get(kid, "ES256")
        header = {"alg": algorithm, "kid": kid} if header is None else header
        signed = f"{text(json.dumps(header).encode())}.{text(json.dumps(claims).encode())}".encode()
        key = self.folder / (kid if kid in "red" else "e")
        if signature is not None:
            made = signature(signed)
        elif kid == "d":
            (self.folder / "message").write_bytes(signed)
            made = sign("pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", self.folder / "message", message=b"")
        else:
            made = sign("dgst", "-sha256", "-sign", key, message=signed)
            made = made if kid == "r" else fixed(made)
        return f"{signed.decode()}.{text(made)}"
