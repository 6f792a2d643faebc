"""Password policy with real clients: what they print of it, guesses at the same time, and what is left after a crash."""

import json
import re
import shutil
import threading
import time

import ldap
import pytest
from ldap.controls.ppolicy import PasswordPolicyControl

from certificates import Authority
from conftest import ADMIN, DATA, FOLLOWER, LDAPTIVE, PANDO, PATIENCE, PEOPLE, SECRET, SUFFIX, connect, run, wait_for
from test_tls_clients import GO
from test_unboundid import JAR

ADA = f"uid=ada,{PEOPLE}"
WORD = "ada's password"
POLICY = f"cn=policy,{SUFFIX}"


def put_policy(here, **values):
    """A policy for all accounts that name none, and a password of Ada that it is about."""
    admin = connect(here)
    fixed = [("objectClass", [b"pwdPolicy", b"device"]), ("pwdAttribute", [b"userPassword"])]
    admin.add_s(POLICY, fixed + [(name, [str(value).encode()]) for name, value in values.items()])
    admin.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoPasswordsDefaultPolicy", [POLICY.encode()])])
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    return admin


def report_of(here, who, word):
    """What python-ldap says of a bind: the exception's class or None, then error, grace and seconds of the control."""
    connection = ldap.initialize(here.url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    number = connection.simple_bind(who, word, serverctrls=[PasswordPolicyControl()])
    failed = None
    try:
        _, _, _, controls = connection.result3(number)
    except ldap.LDAPError as error:
        failed = type(error)
        controls = ldap.controls.DecodeControlTuples(error.args[0].get("ctrls", []))
    [control] = [control for control in controls if control.controlType == PasswordPolicyControl.controlType]
    return failed, control.error, control.graceAuthNsRemaining, control.timeBeforeExpiration


def state(here, name):
    [(_, entry)] = connect(here).search_s(ADA, ldap.SCOPE_BASE, attrlist=[name])
    return [value.decode() for value in entry.get(name, [])]


def whoami(here, word, code=0):
    return run("ldapwhoami", "-x", "-H", here.url, "-D", ADA, "-w", word, "-e", "ppolicy", code=code).said


def test_y7_a_policy_of_a_subtree_in_the_file(server, tmp_path):
    config = tmp_path / "pando.toml"
    config.write_text(f'[[passwords.policy]]\npolicy = "{POLICY}"\nsubtree = "{PEOPLE}"\nfilter = "(uid=ada)"\n')
    here = server("--config", config)
    admin = connect(here)
    admin.add_s(POLICY, [("objectClass", [b"pwdPolicy", b"device"]), ("pwdAttribute", [b"userPassword"]), ("pwdMaxAge", [b"100"])])
    for name in ("ada", "bruno"):
        admin.modify_s(f"uid={name},{PEOPLE}", [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    assert report_of(here, ADA, WORD)[0] is None and state(here, "pwdChangedTime")
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "pwdChangedTime", [b"20200101000000Z"])])
    assert report_of(here, ADA, WORD)[:2] == (ldap.INVALID_CREDENTIALS, 0)
    assert report_of(here, f"uid=bruno,{PEOPLE}", WORD) == (None, None, None, None)
    [(_, values)] = admin.search_s("cn=config", ldap.SCOPE_BASE, attrlist=["pandoPasswordsPolicy"])
    assert values["pandoPasswordsPolicy"] == [f'policy="{POLICY}" subtree="{PEOPLE}" filter=(uid=ada)'.encode()]


def test_y7_policies_of_subtrees(fresh):
    """A subentry below the place that it is about, as OpenDJ's administrators write them; it is no entry of a plain search."""
    admin = connect(fresh)
    entry = [("objectClass", [b"subentry", b"pwdPolicy"]), ("pwdAttribute", b"userPassword"), ("pwdMinLength", b"12")]
    specification = b'{ base "ou=People", minimum 1, specificationFilter "(uid=ada)" }'
    admin.add_s(f"cn=long,{SUFFIX}", [*entry, ("subtreeSpecification", specification)])
    for name, refused in (("ada", True), ("bruno", False)):
        dn = f"uid={name},{PEOPLE}"
        admin.modify_s(dn, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
        change = ["ldappasswd", "-x", "-H", fresh.url, "-D", dn, "-w", WORD, "-e", "ppolicy", "-s", "eleven char", dn]
        said = run(*change, code=int(refused)).said
        assert ("too short" in said) == refused, said
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        admin.modify_s(f"cn=long,{SUFFIX}", [(ldap.MOD_REPLACE, "subtreeSpecification", b"{ base ou=People }")])
    assert fresh.search("-b", SUFFIX, "(objectClass=pwdPolicy)", "1.1").dns == []
    assert fresh.search("-b", f"cn=long,{SUFFIX}", "-s", "base", "1.1").dns == [f"cn=long,{SUFFIX}"]


def test_y2_what_clients_say(fresh):
    admin = put_policy(fresh, pwdMaxAge=1000, pwdExpireWarning=1000, pwdMustChange="TRUE", pwdGraceAuthNLimit=2)
    assert report_of(fresh, ADA, WORD) == (None, 2, None, None)
    run("ldappasswd", "-x", "-H", fresh.url, "-D", ADA, "-w", WORD, "-s", "own word", ADA)
    failed, error, grace, seconds = report_of(fresh, ADA, "own word")
    assert (failed, error, grace) == (None, None, None) and 900 < seconds <= 1000
    assert "expires in" in whoami(fresh, "own word")
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "pwdChangedTime", [b"20200101000000Z"])])
    assert "1 grace" in whoami(fresh, "own word").lower().replace("logins", "")
    assert report_of(fresh, ADA, "own word") == (None, None, 0, None)
    assert report_of(fresh, ADA, "own word") == (ldap.INVALID_CREDENTIALS, 0, None, None)
    assert "expired" in whoami(fresh, "own word", code=49).lower()
    # The root DN has no policy, and nobody is told anything unasked.
    assert connect(fresh).whoami_s() == f"dn:{ADMIN}"


def test_y2_what_other_libraries_understand(fresh, tmp_path):
    """UnboundID's SDK, ldaptive and go-ldap: the control of the draft where it is asked for, Netscape's where it is not. The password must be changed,
    ends soon, has ended, is that of a locked account, or there is nothing to say.
    """
    admin = put_policy(fresh, pwdMaxAge=100_000, pwdExpireWarning=1000, pwdMustChange="TRUE", pwdGraceAuthNLimit=6, pwdLockout="TRUE", pwdMaxFailure=3)
    names = {name: f"uid={name},{PEOPLE}" for name in ("ada", "warned", "ended", "locked", "new")}
    now, changed = time.time(), lambda seconds: time.strftime("%Y%m%d%H%M%SZ", time.gmtime(now - seconds)).encode()
    for name, dn in names.items():
        if name != "ada":
            admin.add_s(dn, [("objectClass", [b"account", b"simpleSecurityObject"]), ("userPassword", [WORD.encode()])])
            since = {"warned": 99_500, "ended": 200_000}.get(name, 10)
            admin.modify_s(dn, [(ldap.MOD_REPLACE, "pwdChangedTime", [changed(since)]), (ldap.MOD_REPLACE, "pwdReset", None)])
    admin.modify_s(names["locked"], [(ldap.MOD_REPLACE, "pwdAccountLockedTime", [b"000001010000Z"])])
    clients = []
    if JAR:
        clients.append(["java", "-XX:TieredStopAtLevel=1", "-cp", JAR, DATA / "PasswordPolicy.java"])
        clients.append([*LDAPTIVE, "policy"])
    if shutil.which("go"):
        run("go", "build", "-C", GO, "-buildvcs=false", "-o", tmp_path / "go-ldap", ".", timeout=300)
        clients.append([tmp_path / "go-ldap", "policy"])
    asks = [(name, how) for name in names for how in ("ask", "unasked")]
    lines = "".join(f"{how}\t{names[name]}\t{WORD}\n" for name, how in asks)
    for number, client in enumerate(clients):
        out = run(*client, fresh.port, stdin=lines, timeout=120).out.splitlines()
        said = {ask: re.sub(r"\b[1-5]\d\d\b", "SECONDS", line) for ask, line in zip(asks, out, strict=True)}
        assert said == {
            ("ada", "ask"): "code 0 policy error 2", ("ada", "unasked"): "code 0 expired",
            ("warned", "ask"): "code 0 policy seconds SECONDS", ("warned", "unasked"): "code 0 expiring SECONDS",
            # Each of them uses one of what is left.
            ("ended", "ask"): f"code 0 policy grace {5 - 2 * number}", ("ended", "unasked"): "code 0 expired",
            ("locked", "ask"): "code 49 policy", ("locked", "unasked"): "code 49",
            ("new", "ask"): "code 0 policy", ("new", "unasked"): "code 0",
        }, client


def test_y9_refusals_reach_the_user(fresh):
    put_policy(fresh, pwdInHistory=2)
    change = ["ldappasswd", "-x", "-H", fresh.url, "-D", ADA, "-w", WORD, "-e", "ppolicy"]
    assert "used before" in run(*change, "-s", WORD, ADA, code=1).said
    connect(fresh).modify_s(POLICY, [(ldap.MOD_REPLACE, "pwdMinLength", [b"20"])])
    assert "too short" in run(*change, "-s", "short", ADA, code=1).said
    run(*change, "-s", "long" * 5, ADA)


def test_y4_guesses_at_the_same_time(fresh):
    """64 connections guess at once: no more than 5 are verified, and then the account is locked."""
    put_policy(fresh, pwdLockout="TRUE", pwdMaxFailure=5)
    begin, outcomes = threading.Barrier(64), []

    def guess(number):
        connection = ldap.initialize(fresh.url)
        connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
        connection.whoami_s()
        begin.wait(PATIENCE)
        try:
            connection.simple_bind_s(ADA, f"wrong {number}")
        except ldap.LDAPError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=guess, args=[number]) for number in range(64)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(outcomes) == 64 and set(outcomes) <= {ldap.INVALID_CREDENTIALS, ldap.BUSY}
    assert len(state(fresh, "pwdAccountLockedTime")) == 1
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(fresh, ADA, WORD)


def test_y5_a_lock_survives_a_crash(keep):
    """Each is there again that a client has seen: the lock, and the grace that it has used."""
    here = keep(ldif="people.ldif")
    admin = put_policy(here, pwdLockout="TRUE", pwdMaxFailure=3, pwdMaxAge=1000, pwdGraceAuthNLimit=1)
    for _ in range(3):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            connect(here, ADA, "wrong")
    here.kill()
    here = keep()
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(here, ADA, WORD)
    assert state(here, "modifiersName") == ["cn=Password Policy"]
    admin = connect(here)
    admin.modify_s(ADA, [(ldap.MOD_DELETE, "pwdAccountLockedTime", None)])
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "pwdChangedTime", [b"20200101000000Z"])])
    connect(here, ADA, WORD)
    here.kill()
    here = keep()
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(here, ADA, WORD)
    assert len(state(here, "pwdGraceUseTime")) == 1


def test_y3_nothing_but_the_change(fresh):
    put_policy(fresh, pwdMustChange="TRUE")
    user = connect(fresh, ADA, WORD)
    for ask in (user.whoami_s, lambda: user.search_s(SUFFIX, ldap.SCOPE_BASE), lambda: user.compare_s(ADA, "uid", "ada")):
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            ask()
    user.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [b"own password"])])
    assert user.whoami_s() == f"dn:{ADA}"
    assert state(fresh, "pwdReset") == []


def test_y1_slapds_policies_are_taken(fresh):
    """The policy of OpenLDAP's manual, as slapd's overlay has it."""
    ldif = f"""dn: ou=policies,{SUFFIX}
objectClass: organizationalUnit
ou: policies

dn: cn=default,ou=policies,{SUFFIX}
objectClass: person
objectClass: pwdPolicy
cn: default
sn: dummy value
pwdAttribute: userPassword
pwdAllowUserChange: TRUE
pwdCheckQuality: 1
pwdExpireWarning: 604800
pwdFailureCountInterval: 30
pwdGraceAuthNLimit: 5
pwdInHistory: 5
pwdLockout: TRUE
pwdLockoutDuration: 0
pwdMaxAge: 0
pwdMaxFailure: 5
pwdMinAge: 0
pwdMinLength: 5
pwdMustChange: FALSE
pwdSafeModify: FALSE
"""
    run("ldapadd", *fresh.admin, stdin=ldif)
    admin = connect(fresh)
    name = f"cn=default,ou=policies,{SUFFIX}".encode()
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "pwdPolicySubentry", [name])])
    user = connect(fresh, ADA, WORD)
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        user.passwd_s(ADA, WORD, "1234")
    user.passwd_s(ADA, WORD, "12345")
    assert len(state(fresh, "pwdChangedTime")) == 1


def test_y3_start_tls_is_admitted_and_is_no_way_out(server, tmp_path):
    """The session is anonymous behind it, and a client that binds again must change the password as before."""
    certificate, key = Authority(tmp_path / "ca").sign("server")
    config = tmp_path / "pando.toml"
    config.write_text(f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\n')
    here = server("--config", config)
    put_policy(here, pwdMustChange="TRUE")
    user = connect(here, ADA, WORD)
    user.set_option(ldap.OPT_X_TLS_CACERTFILE, str(tmp_path / "ca" / "ca.crt"))
    user.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.whoami_s()
    user.start_tls_s()
    assert user.whoami_s() == ""
    user.simple_bind_s(ADA, WORD)
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.whoami_s()
    user.passwd_s(ADA, WORD, "own password")
    assert user.whoami_s() == f"dn:{ADA}"


def test_y8_last_success(keep, tmp_path):
    """Y8: the time of the last bind changes no entry. It survives SIGKILL once it is written, and a clean end in any case; export and dump have it."""
    audit, config = tmp_path / "audit.log", tmp_path / "pando.toml"
    config.write_text(f'[log]\naudit-file = "{audit}"\n[passwords]\nlast-success = 1\n')
    names = ["entryCSN", "modifyTimestamp", "modifiersName"]

    def times(here):
        # In one search, for it may be written at any moment.
        [(_, entry)] = connect(here).search_s(ADA, ldap.SCOPE_BASE, attrlist=["pwdLastSuccess", "authTimestamp"])
        assert entry.get("pwdLastSuccess") == entry.get("authTimestamp")
        return [value.decode() for value in entry.get("pwdLastSuccess", [])]

    here = keep("--config", config, ldif="people.ldif")
    connect(here).modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    before = [state(here, name) for name in names]
    connect(here, ADA, WORD)
    written = wait_for(lambda: times(here))
    here.kill()
    here = keep("--config", config)
    assert times(here) == written and [state(here, name) for name in names] == before
    wait_for(lambda: time.strftime("%Y%m%d%H%M%SZ", time.gmtime()) > written[0])
    connect(here, ADA, WORD)
    here.end()
    here = keep("--config", config)
    assert times(here) > written and [state(here, name) for name in names] == before
    here.end()
    assert [line["op"] for line in map(json.loads, audit.read_text().splitlines()) if line.get("entry") == ADA] == ["modify"]
    assert f"authTimestamp: {written[0][:8]}" in run(PANDO, "export", "--data", keep.data).out
    # Those that come at the end of a node are in its snapshot, or come to the other nodes only.
    assert FOLLOWER or "times of accounts" in run(PANDO, "dump", "--data", keep.data).out


def test_y1_words_that_are_no_passwords(server, tmp_path):
    """The refusal reaches the user, and says why."""
    config, words = tmp_path / "pando.toml", tmp_path / "words"
    words.write_text("Dragonfly\nletmein\n")
    config.write_text('password-dictionary = "words"\n')
    here = server("--config", config)
    admin = put_policy(here, pwdMinLength=4)
    quality = [("pandoPwdNotNames", b"TRUE"), ("pandoPwdDictionary", b"TRUE"), ("pandoPwdMinScore", b"2")]
    added = [(ldap.MOD_ADD, name, [value]) for name, value in [("objectClass", b"pandoPwdQuality"), *quality]]
    admin.modify_s(POLICY, added)
    change = ["ldappasswd", "-x", "-H", here.url, "-D", ADA, "-w", WORD, "-s"]
    for word, why in [("99dragonfly!", "many people"), ("x-okafor-x", "a name of its user"), ("qwerty12", "too easy")]:
        said = run(*change, word, ADA, code=1).said
        assert why in said and word not in said
    run(*change, "kq7#vTz0!xPw2m", ADA)
    config.write_text('password-dictionary = "nowhere"\n')
    assert "nowhere`: cannot be read" in run(PANDO, "check-config", config, code=1).said


def test_y2_account_usability(fresh):
    """What ldapsearch and UnboundID's SDK read of an account that is usable, and of one that is not."""
    admin = put_policy(fresh, pwdMaxAge=1000, pwdGraceAuthNLimit=2)
    tool = "com.unboundid.ldap.sdk.unboundidds.tools.LDAPSearch"
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", JAR, tool, "--hostname", "127.0.0.1", "--port", fresh.port]
    java += ["--bindDN", ADMIN, "--bindPassword", SECRET, "--baseDN", ADA, "--scope", "base", "--accountUsable", "(objectClass=*)", "1.1"]

    def read():
        by_sdk = run(*java, timeout=120).out if JAR else None
        return fresh.search("-b", ADA, "-s", "base", "-E", "!accountUsability", "1.1").out, by_sdk

    by_tool, by_sdk = read()
    assert "accountUsability: available expire=" in by_tool
    assert by_sdk is None or "Account Is Usable:  true" in by_sdk
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "pwdChangedTime", [b"20200101000000Z"])])
    by_tool, by_sdk = read()
    assert "accountUsability: not available (expired) grace=2" in by_tool
    assert by_sdk is None or ("Password Is Expired:  true" in by_sdk and "Remaining Grace Logins:  2" in by_sdk)
