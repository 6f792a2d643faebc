"""389 Directory Server on a port of the system's choice, from packages that are not installed: .ci/packages takes them apart."""

import base64
import hashlib
import os
import pwd
import re
import shutil
import socket
import subprocess
from pathlib import Path

from conftest import ADMIN, PATIENCE, SECRET, SUFFIX, run, wait_for_listener

ROOT = Path(os.environ.get("LOGCONV", "/nowhere/usr/bin/logconv")).parents[2]
NS_SLAPD, SHARE = ROOT / "usr/sbin/ns-slapd", ROOT / "usr/share/dirsrv"
LIBRARIES = next(iter((ROOT / "usr/lib").glob("*-linux-gnu*")), ROOT)
PLUGINS = LIBRARIES / "dirsrv/plugins"
# What it would look for in the place of an installed one.
SEARCHED = ":".join(map(str, (LIBRARIES, LIBRARIES / "dirsrv", PLUGINS)))
# Folders of an instance. Those that the template names otherwise are below.
FOLDERS = ("schema", "lock", "tmp", "cert", "ldif", "bak", "run", "inst", "log", "db")
# It would add these when it starts, by a name that only an installed one finds.
ADDED = (
    ("entryuuid", "libentryuuid-plugin", "entryuuid_plugin_init", "betxnpreoperation"),
    ("entryuuid_syntax", "libentryuuid-syntax-plugin", "entryuuid_syntax_plugin_init", "syntax"),
)


def hashed(word):
    """It takes its root password only so, for nothing is loaded yet when it reads it."""
    salt = b"saltsalt"
    return "{SSHA512}" + base64.b64encode(hashlib.sha512(word.encode() + salt).digest() + salt).decode()


def configuration(folder, port):
    """The template of its package, filled in."""
    template, suffix = (SHARE / "data" / name for name in ("template-dse.ldif", "template-suffix-db.ldif"))
    values = {
        **{f"{name}_dir": folder / name for name in FOLDERS},
        "config_dir": ROOT / "etc/dirsrv/config",
        "db_home_dir": folder / "db",
        "db_lib": "mdb",
        "ds_bename": "userRoot",
        "ds_passwd": hashed(SECRET),
        "ds_port": port,
        "ds_suffix": SUFFIX,
        "ds_user": pwd.getpwuid(os.getuid()).pw_name,
        "fqdn": "localhost",
        "ldapi": folder / "ldapi",
        "ldapi_autobind": "off",
        "ldapi_enabled": "off",
        "rootdn": ADMIN,
    }
    text = re.sub(r"%(\w+)%", lambda found: str(values[found[1]]), f"{template.read_text()}\n\n{suffix.read_text()}")
    for name, library, init, kind in ADDED:
        text += (
            f"\n\ndn: cn={name},cn=plugins,cn=config\nobjectclass: top\nobjectclass: nsSlapdPlugin\ncn: {name}\nnsslapd-pluginpath: {library}\n"
            f"nsslapd-plugininitfunc: {init}\nnsslapd-plugintype: {kind}\nnsslapd-pluginenabled: on\nnsslapd-pluginid: {name}\n"
            f"nsslapd-pluginversion: none\nnsslapd-pluginvendor: 389 Project\nnsslapd-plugindescription: {name}\n"
        )
    text = re.sub(r"(?im)^(nsslapd-pluginpath: )(lib\S+)$", rf"\1{PLUGINS}/\2", text)
    # A remark, or a second empty line, would end it.
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?m)^#.*\n", "", text)).strip() + "\n\n"


class Ds389:
    """A running ns-slapd with this content, added by its root DN."""

    def __init__(self, folder, ldif):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        for name in FOLDERS:
            (folder / name).mkdir(parents=True)
        # The one file is written to, so it is a copy as the others are.
        for schema in (*(SHARE / "schema").iterdir(), ROOT / "etc/dirsrv/schema/99user.ldif"):
            shutil.copy(schema, folder / "schema")
        (folder / "dse.ldif").write_text(configuration(folder, self.port))
        self.url = f"ldap://127.0.0.1:{self.port}"
        self.log = folder / "out"
        self.process = subprocess.Popen(
            [NS_SLAPD, "-D", folder, "-i", folder / "pid", "-d", "0"],
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
            env={**os.environ, "LD_LIBRARY_PATH": SEARCHED},
        )
        wait_for_listener(self.port, self.process, lambda: self.log.read_text() + (folder / "log/errors").read_text())
        (folder / "content.ldif").write_text(ldif)
        run("ldapadd", "-x", "-H", self.url, "-D", ADMIN, "-w", SECRET, "-f", folder / "content.ldif")

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
