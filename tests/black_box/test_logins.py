"""T1, Y2, Y9: users log in and change their passwords on a machine that asks the directory, by nslcd and by sssd."""

import re
import time

import ldap
import pytest

import logins
from certificates import Authority
from conftest import PATIENCE, PEOPLE, SUFFIX, connect, wait_for
from test_tls import authority, serve  # noqa: F401

LACKING = logins.lacking()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
WORD, NEW = "an old word 1", "another word 2"
SERVICE, SERVICE_WORD = f"cn=machines,{SUFFIX}", "the word of machines"
POLICY = f"cn=policy,{SUFFIX}"
# Seconds since the password was changed, of each account.
CHANGED = {"plain": 10, "warned": 99_200, "graced": 200_000, "ended": 200_000, "reset": 10}
NUMBERS = {name: 7001 + number for number, name in enumerate(CHANGED)}
PAM = "auth required {0}\naccount required {0}\npassword required {0}\nsession required {0}\n"


def nslcd(machine, uri, authority):  # noqa: F811
    """The daemon with its configuration, ready to be asked. A user who must change the password may not search, so nslcd is told not to."""
    machine.write("/etc/nslcd.conf", f"""uid root
gid root
uri {uri}
base {SUFFIX}
binddn {SERVICE}
bindpw {SERVICE_WORD}
{"" if uri.startswith("ldaps") else "ssl start_tls"}
tls_reqcert demand
tls_cacertfile {machine.share(authority)}
pam_authc_search NONE
reconnect_retrytime 1
bind_timelimit {PATIENCE}
timelimit {PATIENCE}
""")
    daemon = machine.daemon("nslcd", "--debug")
    wait_for(lambda: "accepting connections" in daemon.log, "nslcd does not start")
    return daemon


def sssd(machine, uri, authority):  # noqa: F811
    """The same with sssd. By a modify or by a password modify, it sends passwords under TLS only."""
    is_tls = uri.startswith("ldaps")
    machine.write("/etc/sssd/sssd.conf", f"""[sssd]
services = nss, pam
domains = directory
[domain/directory]
debug_level = 4
id_provider = ldap
auth_provider = ldap
chpass_provider = ldap
sudo_provider = none
autofs_provider = none
ldap_uri = {uri}
ldap_search_base = {SUFFIX}
ldap_default_bind_dn = {SERVICE}
ldap_default_authtok = {SERVICE_WORD}
ldap_id_use_start_tls = {not is_tls}
ldap_pwmodify_mode = {"ldap_modify" if is_tls else "exop"}
ldap_network_timeout = {PATIENCE}
ldap_opt_timeout = {PATIENCE}
ldap_search_timeout = {PATIENCE}
ldap_tls_reqcert = demand
ldap_tls_cacert = {machine.share(authority)}
""")
    daemon = machine.daemon("sssd", "--interactive", "--logger=stderr")
    wait_for(lambda: all(f"Added Frontend client [{name}]" in daemon.log for name in ("nss", "pam")), "sssd does not start")
    return daemon


# How each begins, the names of its modules for users and for passwords.
DAEMONS = [pytest.param(nslcd, "ldap", "pam_ldap.so", id="nslcd"), pytest.param(sssd, "sss", "pam_sss.so", id="sssd")]


@pytest.fixture
def machine(tmp_path):
    """A machine whose users are in the directory."""
    made = logins.Machine(tmp_path / "machine")
    yield made
    made.end()


def set_up(machine, nss, pam):
    """Users and passwords are those of the directory."""
    machine.write("/etc/nsswitch.conf", f"passwd: files {nss}\ngroup: files {nss}\nshadow: files\nhosts: files\n", mode=0o644)
    for service in ("login-test", "passwd"):
        machine.write(f"/etc/pam.d/{service}", PAM.format(pam), mode=0o644)


@pytest.fixture
def served(serve):  # noqa: F811
    """A server with certificate and accounts of machines under a policy."""
    here = serve(arguments=["--index", "uid:eq", "--index", "uidNumber:eq", "--password-scheme", "ssha512"])
    admin = connect(here)
    admin.add_s(SERVICE, [("objectClass", [b"device", b"simpleSecurityObject"]), ("userPassword", [SERVICE_WORD.encode()])])
    rules = {"pwdAttribute": "userPassword", "pwdMaxAge": 100_000, "pwdMinLength": 8, "pwdExpireWarning": 1000, "pwdMustChange": "TRUE", "pwdInHistory": 3}
    for name, grace in ((POLICY, 0), (f"cn=graced,{SUFFIX}", 3)):
        values = [(rule, [str(value).encode()]) for rule, value in {**rules, "pwdGraceAuthNLimit": grace}.items()]
        admin.add_s(name, [("objectClass", [b"pwdPolicy", b"device"]), *values])
    now = time.time()
    for name, seconds in CHANGED.items():
        dn, number = f"uid={name},{PEOPLE}", str(NUMBERS[name]).encode()
        policy = f"cn={'graced' if name == 'graced' else 'policy'},{SUFFIX}"
        admin.add_s(dn, [("objectClass", [b"account", b"posixAccount"]), ("cn", [name.encode()]), ("uidNumber", [number]), ("gidNumber", [number]),
                         ("homeDirectory", [b"/"]), ("loginShell", [b"/bin/sh"]), ("userPassword", [WORD.encode()]),
                         ("pwdPolicySubentry", [policy.encode()])])
        changed = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(now - seconds)).encode()
        admin.modify_s(dn, [(ldap.MOD_REPLACE, "pwdChangedTime", [changed])])
    crew = [("objectClass", [b"posixGroup"]), ("gidNumber", [b"7100"]), ("memberUid", [b"plain", b"warned", b"gone"])]
    admin.add_s(f"cn=crew,ou=Groups,{SUFFIX}", crew)
    # What somebody else sets must be changed.
    admin.modify_s(f"uid=reset,{PEOPLE}", [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    return here


def log_in(machine, name, word, good=True):
    """What is said to a user who logs in: whether the password is right and the account may be used is asked."""
    tool = machine.run("pamtester", "login-test", name, "authenticate", "acct_mgmt", stdin=f"{word}\n", code=0 if good else 1)
    assert good == ("account management done" in tool.out)
    return tool.said


def change(machine, name, old, new, good=True):
    """What passwd(1) says to a user."""
    tool = machine.run("passwd", user=NUMBERS[name], stdin=f"{old}\n{new}\n{new}\n", code=0 if good else 10)
    assert good == ("password updated successfully" in tool.said)
    return tool.said


def is_known(machine, name):
    return machine.run("getent", "passwd", name, code=None).out == f"{name}:*:{NUMBERS[name]}:{NUMBERS[name]}:{name}:/:/bin/sh\n"


@pytest.mark.parametrize("daemon, nss, pam", DAEMONS)
def test_y9_warnings_and_refusals_reach_the_user(served, machine, authority, daemon, nss, pam):  # noqa: F811
    """Over StartTLS. Each of the daemons has its own words for what the password policy says, and passes on the server's for a refusal."""
    set_up(machine, nss, pam)
    running = daemon(machine, f"ldap://127.0.0.1:{served.port}", authority)
    is_sssd = nss == "sss"
    assert all(is_known(machine, name) for name in NUMBERS)
    assert "expire" not in log_in(machine, "plain", WORD)
    assert "failure" in log_in(machine, "plain", "wrong", good=False)
    assert re.search(r"will expire in \d+ minute", log_in(machine, "warned", WORD))
    assert ("2 grace login(s) remaining" if is_sssd else "Password expired, 2 grace logins left") in log_in(machine, "graced", WORD)
    # Why a bind fails is in the log of nslcd only.
    said = log_in(machine, "ended", WORD, good=False)
    assert "Password expired. Change your password now" in said if is_sssd else "Password expired" in running.log
    said = log_in(machine, "reset", WORD, good=False)
    assert ("Change your password now" if is_sssd else "Password must be changed") in said
    assert "too short" in change(machine, "plain", WORD, "short", good=False)
    assert "used before" in change(machine, "plain", WORD, WORD, good=False)
    change(machine, "plain", "wrong", NEW, good=False)
    change(machine, "ended", WORD, NEW, good=False)
    for name in ("plain", "warned", "graced", "reset"):
        change(machine, name, WORD, NEW)
        assert "expire" not in log_in(machine, name, NEW)
        connect(served, f"uid={name},{PEOPLE}", NEW)
    assert "used before" in change(machine, "plain", NEW, WORD, good=False)
    running.end()


@pytest.mark.parametrize("daemon, nss, pam", DAEMONS)
def test_t1_logins_over_ldaps(served, machine, authority, tmp_path, daemon, nss, pam):  # noqa: F811
    """And with an authority that did not sign the server's certificate nobody is known, on either way."""
    set_up(machine, nss, pam)
    other = Authority(tmp_path / "other")
    for uri in (f"ldaps://127.0.0.1:{served.secure_port}", f"ldap://127.0.0.1:{served.port}"):
        running = daemon(machine, uri, other)
        assert not is_known(machine, "plain")
        running.end()
    running = daemon(machine, f"ldaps://127.0.0.1:{served.secure_port}", authority)
    assert is_known(machine, "plain")
    assert machine.run("getent", "passwd", "nobody-here", code=2).out == ""
    group = machine.run("getent", "group", "crew").out
    assert group.startswith("crew:*:7100:") and {"plain", "warned"} <= set(group.strip().rsplit(":", 1)[1].split(",")), group
    # It has no name for the first group of either.
    ids = {name: machine.run("id", name, code=None).out for name in ("plain", "ended")}
    assert ids == {"plain": "uid=7001(plain) gid=7001 groups=7001,7100(crew)\n", "ended": "uid=7004(ended) gid=7004 groups=7004\n"}
    log_in(machine, "plain", WORD)
    log_in(machine, "plain", "wrong", good=False)
    assert "too short" in change(machine, "plain", WORD, "short", good=False)
    change(machine, "plain", WORD, NEW)
    log_in(machine, "plain", NEW)
    running.end()
