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

    def sign_client(self, name, subject, usage="clientAuth", names=(), begin="20200101000000Z", end="20491231235959Z"):
        """A certificate and a key of a client: its subject in openssl's form, what it may be used for, alternative names, validity."""
        certificate, key, request = (self.folder / f"{name}{end_}" for end_ in (".crt", ".key", ".csr"))
        config = self._database()
        lines = ["[v3]", *([f"extendedKeyUsage={usage}"] if usage else []), *(["subjectAltName=" + ",".join(names)] if names else []), "basicConstraints=CA:FALSE"]
        extensions = self.folder / f"{name}.ext"
        extensions.write_text("\n".join(lines) + "\n")
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8", "-subj", subject, "-keyout", key, "-out", request)
        run("openssl", "ca", "-batch", "-notext", "-utf8", "-config", config, "-in", request, "-out", certificate, "-startdate", begin, "-enddate", end,
            "-extfile", extensions, "-extensions", "v3", "-preserveDN")
        return certificate, key

    def revoke(self, *certificates, hours=24):
        """The list of revoked certificates, with these among them; it is outdated after so many hours."""
        config, file = self._database(), self.folder / "revoked.crl"
        for certificate in certificates:
            run("openssl", "ca", "-config", config, "-revoke", certificate)
        until = ["-crlhours", hours] if hours else ["-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200102000000Z"]
        run("openssl", "ca", "-config", config, "-gencrl", *until, "-out", f"{file}.new")
        os.rename(f"{file}.new", file)
        return file

    def _database(self):
        """What `openssl ca` keeps its accounts in."""
        config = self.folder / "ca.cnf"
        if not config.exists():
            (self.folder / "index.txt").write_text("")
            (self.folder / "index.txt.attr").write_text("unique_subject = no\n")
            (self.folder / "crlnumber").write_text("01\n")
            (self.folder / "serial").write_text("01\n")
            config.write_text(f"""[ca]
default_ca = own
[own]
database = {self.folder}/index.txt
serial = {self.folder}/serial
crlnumber = {self.folder}/crlnumber
new_certs_dir = {self.folder}
certificate = {self.certificate}
private_key = {self.key}
default_md = sha256
policy = any
string_mask = utf8only
[any]
countryName = optional
organizationName = optional
organizationalUnitName = optional
commonName = optional
UID = optional
domainComponent = optional
emailAddress = optional
""")
        return config
