"""A11: slapd beside Pando. slapd has rule sets of its own, Pando what `pando access translate` makes of them."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from conftest import ADMIN, PATIENCE, SECRET, SUFFIX, run, wait_for_listener
from verdicts import (
    ANN, BOSS, EXTRA, GROUPS, LDIF, PEOPLE, STAFF, UNIQUE, Differences, connect_admin, explained, put_translated, verdicts,
)

# .ci/packages takes it out of its package, which is not installed.
ROOT = Path(os.environ.get("OPENLDAP_SCHEMA", "/etc/ldap/schema")).parents[2]
SLAPD, SCHEMAS, MODULES = ROOT / "usr/sbin/slapd", ROOT / "etc/ldap/schema", ROOT / "usr/lib/ldap"
LIBRARIES = ":".join(str(path) for path in (ROOT / "usr/lib").glob("*-linux-gnu*"))

# A bind is needed by all, so each set begins with who may try a password.
LOGIN = "access to attrs=userPassword by anonymous auth by * none"
SETS = [
    [],
    ["access to * by * read"],
    ["access to * by users read"],
    ["access to * by * none"],
    ["access to * by * disclose"],
    ["access to * by * search"],
    ["access to * by * compare"],
    ["access to * by users search by * disclose"],
    ["access to * by users write"],
    ["access to * by * write"],
    ["access to * by self write by users read"],
    ["access to * by self write by anonymous none by * read"],
    ["access to * by self read"],
    [f'access to * by dn.exact="{BOSS}" write by users read'],
    [f'access to * by dn.exact="{BOSS}" manage by * search'],
    [f'access to * by dn.base="{ANN}" none by users read'],
    [f'access to * by dn.one="{PEOPLE}" read'],
    [f'access to * by dn.subtree="{PEOPLE}" read'],
    [f'access to * by dn.children="{ANN}" read by users search'],
    [f'access to * by dn.regex="^[^,]+,{PEOPLE}$" read'],
    [f'access to dn.base="{SUFFIX}" by * search', "access to * by users read"],
    [f'access to dn.exact="{ANN}" by * none', "access to * by users read"],
    [f'access to dn.one="{PEOPLE}" by users read'],
    [f'access to dn.subtree="{PEOPLE}" by users read'],
    [f'access to dn.subtree="{PEOPLE}" by users write', "access to * by * read"],
    [f'access to dn.children="{PEOPLE}" by users read', "access to * by * search"],
    [f'access to dn.subtree="{PEOPLE}" by dn.exact="{BOSS}" write by users read', "access to * by * read"],
    [f'access to dn.regex="^uid=[^,]+,{PEOPLE}$" by users read', "access to * by * search"],
    [f'access to dn.regex="^[^,]+,{PEOPLE}$" attrs=title by * none', "access to * by users read"],
    [f'access to dn.regex="(.+,)?{PEOPLE}$" by users read'],
    [f'access to dn.regex=".+,{PEOPLE}$" by users read', "access to * by * search"],
    [f'access to dn.regex="^(uid=[^,]+),{PEOPLE}$" by dn.exact,expand="$1,{PEOPLE}" write by * read', "access to * by * read"],
    ["access to filter=(employeeType=admin) by * none", "access to * by users read"],
    ["access to filter=(objectClass=person) by self write by * read", "access to * by * read"],
    ["access to filter=(|(uid=ann)(uid=bob)) attrs=description by users read", "access to attrs=description by * none", "access to * by * read"],
    ["access to attrs=title by * none", "access to * by users read"],
    ["access to attrs=title by self write by * none", "access to * by users read"],
    ["access to attrs=title,description by self write by users read", "access to * by * search"],
    ["access to attrs=title by users search", "access to * by * read"],
    ["access to attrs=title by users compare", "access to * by * read"],
    ["access to attrs=@organizationalPerson by users read", "access to * by * search"],
    ["access to attrs=entry by users read", "access to attrs=title by * read"],
    ["access to attrs=entry by * search", "access to * by * read"],
    ["access to attrs=entry,objectClass,cn by * read", "access to * by * none"],
    [f'access to attrs=member val="{ANN}" by * none', "access to * by users read"],
    ["access to attrs=member by users selfwrite", "access to * by users read"],
    ["access to attrs=member by dnattr=owner write by users read", "access to * by users read"],
    ["access to * by dnattr=manager write by users read"],
    [f'access to * by group="{STAFF}" write by users read'],
    [f'access to * by group.exact="{STAFF}" read'],
    [f'access to * by group/groupOfUniqueNames/uniqueMember.exact="{UNIQUE}" read'],
    [f'access to * by group="cn=gone,{GROUPS}" read by users search'],
    ["access to * by peername.ip=127.0.0.1 read"],
    ["access to * by peername.ip=10.0.0.0%255.0.0.0 read by users search"],
    ["access to * by ssf=128 write by users read"],
    ["access to * by self.level{-1} write by users read"],
    ["access to * by self.level{1} read"],
    ["access to * by users =rscd"],
    ["access to * by users =sd"],
    ["access to attrs=title by users =w", "access to * by users read"],
    ["access to attrs=title by users =a", "access to * by users read"],
    ["access to attrs=description by users =z", "access to * by users read"],
    ["access to attrs=title by users +rscd", "access to * by users read"],
    [f'access to * by dn.exact="{BOSS}" write by * break', "access to * by users read"],
    ["access to attrs=title by users read break", "access to * by users write"],
    ["access to * by users read by * none break", "access to * by * search"],
    ['access to * by set="this/manager & user" write by users read'],
    [f'access to dn.base="{EXTRA}" attrs=children by users write', f'access to dn.subtree="{EXTRA}" by users write', "access to * by users read"],
    [f'access to dn.subtree="{EXTRA}" attrs=entry,children by dn.exact="{ANN}" write', "access to * by users read"],
    # What is not carried over is listed; then less is allowed, never more.
    ["access to * by domain=example.com write by users read"],
    [f'access to dn.regex="^uid=a.*,{PEOPLE}$" by * none', "access to * by users read"],
    ['access to * by set="user/uid & [ann]" write by users read'],
]


class Slapd:
    """slapd with one rule set, on a port of the system's choice. `before`: lines of its configuration before that of the database; `level`: what
    it writes to its file `log`; `also`: another URL on which it listens."""

    def __init__(self, folder, rules, before=(), level="0", also=""):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "db").mkdir(parents=True)
        load = f"modulepath {MODULES}\nmoduleload back_mdb\n"
        includes = "".join(f"include {SCHEMAS}/{name}.schema\n" for name in ("core", "cosine", "inetorgperson"))
        self.conf = conf = folder / "slapd.conf"
        conf.write_text(
            f"{includes}{load}" + "".join(f"{line}\n" for line in before) + f"pidfile {folder}/pid\ndatabase mdb\nsuffix {SUFFIX}\nrootdn {ADMIN}\nrootpw {SECRET}\n"
            f"directory {folder}/db\n" + "\n".join(rules) + "\n"
        )
        self.url = f"ldap://127.0.0.1:{self.port}"
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [SLAPD, "-f", str(conf), "-h", f"{self.url} {also}", "-d", level],
            stderr=self.log.open("wb"),
            stdout=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES},
        )
        wait_for_listener(self.port, self.process, self.log.read_text)
        (folder / "content.ldif").write_text(LDIF)
        run("ldapadd", "-x", "-H", self.url, "-D", ADMIN, "-w", SECRET, "-f", folder / "content.ldif")

    def tool(self, name, *arguments):
        """What one of its tools prints: `passwd`, `cat` and their like."""
        # That which hashes a password reads no configuration.
        configured = [] if name == "passwd" else ["-f", self.conf]
        return run(SLAPD, "-T", name, *configured, *arguments, env={"LD_LIBRARY_PATH": LIBRARIES}).out

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def is_known(key, slapd, pando, _rules):
    """Is it one of the differences that docs/access.md lists? Pando asks for `disclose` on the entry, for a compare too. And every entry has an
    object class, so `(objectClass=*)` is true for those who may not search for it as well.
    """
    if key[2] == "read":
        return slapd == [] and all("objectClass" not in dict(entry) for _, entry in pando)
    return key[2].startswith("compare") and isinstance(slapd, bool) and pando == "denied"


@pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
def test_a11_slapd_and_pando_give_the_same_verdicts(tmp_path, server):
    (tmp_path / "content.ldif").write_text(LDIF)
    pando = server(ldif=tmp_path / "content.ldif")
    config, differences = connect_admin(pando.url), Differences("slapd", is_known)
    for number, rules in enumerate(SETS):
        folder = tmp_path / f"set{number}"
        rules = [LOGIN, *rules] if rules else []
        slapd = Slapd(folder, rules)
        try:
            expected = verdicts(slapd.url)
        finally:
            slapd.end()
        is_listed = put_translated(config, folder / "slapd.conf", "openldap")
        got = verdicts(pando.url)
        differences.compare(rules, expected, got, is_listed)
        if number % 8 == 0:
            explained(tmp_path, pando, got)
    config.unbind_s()
    differences.check()
