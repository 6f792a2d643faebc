"""T1, Y2, Y9: users log in and change their passwords on a machine that asks the directory, by nslcd and by sssd."""

import json
import re
import time

import ldap
import pytest

import logins
from certificates import Authority
from conftest import DATA, PATIENCE, PEOPLE, SUFFIX, connect, wait_for
from test_tls import authority, serve  # noqa: F401

LACKING = logins.lacking()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
WORD, NEW = "an old word 1", "another word 2"
SERVICE, SERVICE_WORD = f"cn=machines,{SUFFIX}", "the word of machines"
POLICY = f"cn=policy,{SUFFIX}"
CREW, OFFICERS = f"cn=crew,ou=Groups,{SUFFIX}", f"cn=officers,ou=Groups,{SUFFIX}"
# Seconds since the password was changed, of each account.
CHANGED = {"plain": 10, "warned": 99_200, "graced": 200_000, "ended": 200_000, "reset": 10}
NUMBERS = {name: 7001 + number for number, name in enumerate(CHANGED)}
PAM = "auth required {0}\naccount required {0}\npassword required {0}\nsession required {0}\n"


def nslcd(machine, uri, authority, more=""):  # noqa: F811
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
{more}
""")
    daemon = machine.daemon("nslcd", "--debug")
    wait_for(lambda: "accepting connections" in daemon.log, "nslcd does not start")
    return daemon


def sssd(machine, uri, authority, more=""):  # noqa: F811
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
{more}
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


def accounts(serve, *lines, arguments=(), **settings):  # noqa: F811
    """A server with certificate and accounts of machines under a policy."""
    here = serve(*lines, arguments=["--index", "uid:eq", "--index", "uidNumber:eq", "--password-scheme", "ssha512", *arguments], **settings)
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
    # What somebody else sets must be changed.
    admin.modify_s(f"uid=reset,{PEOPLE}", [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    return here


@pytest.fixture
def served(serve):  # noqa: F811
    """The same with a group of RFC 2307."""
    here = accounts(serve)
    crew = [("objectClass", [b"posixGroup"]), ("gidNumber", [b"7100"]), ("memberUid", [b"plain", b"warned", b"gone"])]
    connect(here).add_s(CREW, crew)
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


def members(machine, name, number):
    """The names that a group has on the machine."""
    group = machine.run("getent", "group", name).out
    assert group.startswith(f"{name}:*:{number}:"), group
    return set(filter(None, group.strip().rsplit(":", 1)[1].split(",")))


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
    assert {"plain", "warned"} <= members(machine, "crew", 7100)
    # It has no name for the first group of either.
    ids = {name: machine.run("id", name, code=None).out for name in ("plain", "ended")}
    assert ids == {"plain": "uid=7001(plain) gid=7001 groups=7001,7100(crew)\n", "ended": "uid=7004(ended) gid=7004 groups=7004\n"}
    log_in(machine, "plain", WORD)
    log_in(machine, "plain", "wrong", good=False)
    assert "too short" in change(machine, "plain", WORD, "short", good=False)
    change(machine, "plain", WORD, NEW)
    log_in(machine, "plain", NEW)
    running.end()


# Groups whose members have names, and how each daemon is asked for them. sssd looks at what it knows as often as it can. By default it shows no group at all that has a
# member that is no entry.
NSS = "[nss]\nmemcache_timeout = 0\nenum_cache_timeout = 1"
FRESH = "ldap_schema = rfc2307bis\nldap_ignore_unreadable_references = True\nentry_cache_timeout = 1"
OF_NAMES = [
    pytest.param(nslcd, "ldap", "pam_ldap.so", "nss_nested_groups yes", "groupOfNames", "member", id="nslcd"),
    pytest.param(nslcd, "ldap", "pam_ldap.so", "nss_nested_groups yes\nmap group member uniqueMember", "groupOfUniqueNames", "uniqueMember", id="nslcd-unique"),
    pytest.param(sssd, "sss", "pam_sss.so", f"{FRESH}\n{NSS}", "groupOfNames", "member", id="sssd"),
    pytest.param(sssd, "sss", "pam_sss.so", f"{FRESH}\nldap_group_member = uniqueMember\n{NSS}", "groupOfUniqueNames", "uniqueMember", id="sssd-unique"),
]


@pytest.mark.parametrize("daemon, nss, pam, more, kind, attribute", OF_NAMES)
def test_groups_of_rfc2307bis(serve, machine, authority, tmp_path, daemon, nss, pam, more, kind, attribute):  # noqa: F811
    """Groups have members by their names, among them another group; changes reach the machine."""
    people = tmp_path / "people.ldif"
    people.write_text((DATA / "people.ldif").read_text().replace("objectClass: posixGroup", "objectClass: groupOfMembers\nobjectClass: posixGroup"))
    here = accounts(serve, arguments=["--schema", "rfc2307bis"], ldif=people)
    admin = connect(here)
    for dn, number, names in (
        (CREW, 7100, [f"uid={name},{PEOPLE}" for name in ("plain", "warned", "gone")]),
        (OFFICERS, 7101, [CREW, f"uid=graced,{PEOPLE}"]),
    ):
        admin.add_s(dn, [("objectClass", [kind.encode(), b"posixGroup"]), ("gidNumber", [str(number).encode()]), (attribute, [name.encode() for name in names])])
    set_up(machine, nss, pam)
    running = daemon(machine, f"ldaps://127.0.0.1:{here.secure_port}", authority, more)
    assert is_known(machine, "plain")
    # nslcd takes the name of a user out of a DN, whether or not there is such an entry.
    there = lambda name, number: members(machine, name, number) - {"gone"}
    assert there("crew", 7100) == {"plain", "warned"}
    assert there("officers", 7101) == {"plain", "warned", "graced"}, "members of a group in it"
    own = lambda name: set(machine.run("id", "-G", name).out.split())
    assert own("plain") == {"7001", "7100", "7101"} and own("graced") == {"7003", "7101"} and own("ended") == {"7004"}
    admin.modify_s(CREW, [(ldap.MOD_DELETE, attribute, [f"uid=plain,{PEOPLE}".encode()]), (ldap.MOD_ADD, attribute, [f"uid=ended,{PEOPLE}".encode()])])
    wait_for(lambda: there("crew", 7100) == {"warned", "ended"}, "the group is what it was")
    wait_for(lambda: own("plain") == {"7001"} and own("ended") == {"7004", "7100", "7101"}, "the users are in the groups that they were in")
    running.end()


def test_sssd_asks_for_what_has_changed(serve, machine, authority, tmp_path):  # noqa: F811
    """It lists all users and groups once, and then those alone whose entryUSN is higher than the highest that it has seen."""
    access = tmp_path / "access.log"
    here = accounts(serve, "[log]", 'access = "all"', f'access-file = "{access}"')
    set_up(machine, "sss", "pam_sss.so")
    more = f"enumerate = True\nldap_enumeration_refresh_timeout = 1\nldap_enumeration_refresh_offset = 0\n{NSS}"
    running = sssd(machine, f"ldaps://127.0.0.1:{here.secure_port}", authority, more)

    def asked():
        """Searches for changed users: the lowest number that they ask for, and how many they found."""
        lines = [json.loads(line) for line in access.read_text().splitlines()]
        filters = [(re.search(r"\(entryUSN>=(\d+)\)", line.get("filter", "")), line) for line in lines if line["op"] == "search"]
        return [(int(found[1]), line["entries"]) for found, line in filters if found and "(uid=*)" in line["filter"]]

    wait_for(lambda: asked(), "sssd asks for no changes")
    [highest] = {number for number, _ in asked()}
    number = NUMBERS["plain"] + 100
    new = [("objectClass", [b"account", b"posixAccount"]), ("cn", [b"new"]), ("uidNumber", [str(number).encode()]), ("gidNumber", [str(number).encode()]),
           ("homeDirectory", [b"/"])]
    connect(here).add_s(f"uid=new,{PEOPLE}", new)
    wait_for(lambda: f"new:*:{number}:" in machine.run("getent", "passwd").out, "the new user is not listed")
    found = wait_for(lambda: [entries for _, entries in asked() if entries], "no search for changes has found any")
    assert found == [1], "the new user and no other"
    wait_for(lambda: asked()[-1][0] > highest, "it asks for what it has")
    running.end()
