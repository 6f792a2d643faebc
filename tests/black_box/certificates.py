"""Certificates for tests: an authority and what it signs, by openssl."""

import os
from pathlib import Path

from conftest import run


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.certificate, self.key = self.folder / "ca.crt", self.folder / "ca.key"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=Test authority", "-keyout", self.key, "-out", self.certificate)

    def sign(self, name, *names, days=30):
        """A certificate and a key of a server with these names, as files `name.crt` and `name.key`, which take the place of older
        ones at once.
        """
        certificate, key, request, extensions = (self.folder / f"{name}{end}" for end in (".crt", ".key", ".csr", ".ext"))
        extensions.write_text("subjectAltName=" + ",".join(names or ("DNS:localhost", "IP:127.0.0.1")) + "\n")
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{key}.new", "-out", request)
        run("openssl", "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
            "-days", days, "-extfile", extensions, "-out", f"{certificate}.new")
        os.rename(f"{key}.new", key)
        os.rename(f"{certificate}.new", certificate)
        return certificate, key
