"""A Kerberos server (MIT) of a test: its database, its port and its configuration are the test's own."""

import os
import socket
import subprocess
from pathlib import Path

from conftest import PATIENCE, wait_for

# Where .ci/packages has put the programs: they are not installed, for that would start a server.
TOOLS = Path(os.environ.get("KERBEROS", "/"))
REALM = "EXAMPLE.COM"


class Kerberos:
    """`environment` is that of clients, and of servers whose keys are in `keytab`."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.keytab = folder / "ldap.keytab"
        (folder / "krb5.conf").write_text(f"""[libdefaults]
default_realm = {REALM}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{REALM} = {{
  kdc = 127.0.0.1:{port}
}}
[dbmodules]
db_module_dir = {TOOLS}/usr/lib/x86_64-linux-gnu/krb5/plugins/kdb
""")
        (folder / "kdc.conf").write_text(f"""[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{REALM} = {{
  database_name = {folder}/principals
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
}}
""")
        self.environment = {"KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(folder / "kdc.conf"), "KRB5CCNAME": f"FILE:{folder}/tickets",
                            "KRB5RCACHENAME": f"file2:{folder}/seen"}
        self.tool("sbin/kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        self.process = subprocess.Popen([TOOLS / "usr/sbin/krb5kdc", "-n"], env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tool(self, name, *arguments, stdin="", may_fail=False):
        done = subprocess.run([TOOLS / "usr" / name, *arguments], input=stdin, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=PATIENCE)
        assert may_fail or done.returncode == 0, done
        return done.returncode == 0

    def add(self, principal, password=None):
        """A user with a password, or a service with keys in the keytab."""
        key = ["-pw", password] if password else ["-randkey"]
        self.tool("sbin/kadmin.local", "addprinc", *key, principal)
        if not password:
            self.tool("sbin/kadmin.local", "ktadd", "-k", self.keytab, principal)

    def log_in(self, principal, password):
        """Its tickets are the ones that clients have from now on."""
        # The server may not listen yet.
        wait_for(lambda: self.tool("bin/kinit", principal, stdin=password + "\n", may_fail=True), "nobody can log in")

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
