"""Passwords with real clients: schemes, words that no file has, the threads that verify, and clients that guess."""

import base64
import threading
import time

import ldap
import pytest

from conftest import ADMIN, PANDO, PEOPLE, SECRET, SUFFIX, connect, run, start, wait_for
from test_access_slapd import MODULES, SLAPD, Slapd

ADA = f"uid=ada,{PEOPLE}"
BRUNO = f"uid=bruno,{PEOPLE}"
WORD = "Secret-1"
SCHEMES = ["argon2id", "ssha512", "ssha256", "ssha", "pbkdf2-sha256", "pbkdf2-sha512", "scram-sha-256", "bcrypt", "sha512-crypt"]
# One value of each kind; crates/password/tests/vectors.rs has all, and the commands that made them.
FOREIGN = [
    "{SMD5}WWFTfWokGfN7DxpuTCIDK9S2Wkk=",
    "{SSHA384}mF5jyp8iHautcbrC39+0SpMXmJg8o8OkOSEM237BMNeXiYmgjASwUh8PH/JZf1YJDDGohqxMBKA=",
    "{PBKDF2-SHA256}10000$TIHDQ6ffikJcGUbItnii.w$VsKL5QL3Z38yxMHq/jQ6H7i2GFOLghFEPnQqU7aw5dI",
    "{PBKDF2}1000:+swU9//IW9QQhLmyQh8Crfe82aIAAQIDBAUGBw==",
    "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$IQ6iiN2s3TEDmSqJhR6arw$O6+y1uz8H8RiS3JjOTQFZCHrHvf75+KM6LpWYReNXpg",
    "{CRYPT}$6$rounds=10000$XBUbcRh0$TwSbUWhP61Ol5T1DIf8bJ3QGF1CpFyQbXH74p7SbY.ZKS3.Mil2qKymGxcFpYt.2HtfWm17KgS81h6QlVt5kj1",
    "{CRYPT}$y$j9T$Fv8pK9hDDCYzUJvb5UCEF0$wY/323Gt6.w/Vm8xf163b9.2gB5T8rGUk69wWG9pwL9",
    "{CRYPT}$2b$05$iOjnU2oMmIsGePqJRzZih.iXI.LsiFh45qwvxLyE8rE4Bdk3WmiA2",
]


def binds(here, who, word):
    try:
        connect(here, who, word)
        return True
    except ldap.INVALID_CREDENTIALS:
        return False


def stored(here, who=ADA):
    [(_, entry)] = connect(here).search_s(who, ldap.SCOPE_BASE, attrlist=["userPassword"])
    return [value.decode() for value in entry.get("userPassword", [])]


def test_p1_values_of_other_servers_bind(fresh):
    admin = connect(fresh)
    for value in FOREIGN:
        admin.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [value.encode()])])
        assert stored(fresh) == [value]
        assert binds(fresh, ADA, WORD) and not binds(fresh, ADA, "secret-1") and not binds(fresh, ADA, value), value


def test_p1_the_root_password_may_be_a_hash(tmp_path):
    for scheme in SCHEMES:
        value = run(PANDO, "password", "hash", "--scheme", scheme, stdin=f"{SECRET}\n").out
        assert SECRET not in value and value.count("\n") == 1
        (tmp_path / scheme).write_text(value)
        folder = tmp_path / f"run-{scheme}"
        folder.mkdir()
        here = start(folder, "--root-dn", ADMIN, "--root-password-file", str(tmp_path / scheme), root=False)
        try:
            assert binds(here, ADMIN, SECRET) and not binds(here, ADMIN, value.strip()) and not binds(here, ADMIN, "x"), scheme
        finally:
            here.end()


def test_the_command_takes_no_password_that_never_binds():
    assert "empty" in run(PANDO, "password", "hash", stdin="\n", code=1).err
    assert "1024" in run(PANDO, "password", "hash", stdin="x" * 1025, code=1).err
    run(PANDO, "password", "hash", "--scheme", "clear", stdin="x", code=2)
    one, two = (run(PANDO, "password", "hash", stdin="x").out for _ in range(2))
    assert one != two and one.startswith("{ARGON2}$argon2id$")


def test_what_is_set_is_argon2id_and_a_word_of_the_import_stays(fresh):
    run("ldappasswd", *fresh.admin, "-s", WORD, BRUNO)
    assert stored(fresh, BRUNO)[0].startswith("{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$") and binds(fresh, BRUNO, WORD)
    assert binds(fresh, ADA, "ada's password")
    connect(fresh, ADA, "ada's password").passwd_s(ADA, "ada's password", "new word")
    assert binds(fresh, ADA, "new word") and not binds(fresh, ADA, "ada's password")


def test_p4_no_file_has_the_word(keep, tmp_path):
    """Not the log, not a snapshot, not a backup, not a line of the server: in the clear, in base64, in hexadecimal."""
    here = keep(ldif="people.ldif")
    words = [f"w0rd-{number}-unseen" for number in range(6)]
    admin = connect(here)
    person = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"]), ("userPassword", [words[0].encode()])]
    admin.add_s(f"uid=new,{PEOPLE}", person)
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [words[1].encode()])])
    admin.modify_s(ADA, [(ldap.MOD_ADD, "userPassword", [words[2].encode()]), (ldap.MOD_DELETE, "userPassword", [words[1].encode()])])
    run("ldappasswd", *here.admin, "-s", words[3], BRUNO)
    user = connect(here, BRUNO, words[3])
    user.modify_s(BRUNO, [(ldap.MOD_DELETE, "userPassword", [words[3].encode()]), (ldap.MOD_ADD, "userPassword", [words[4].encode()])])
    change = f"dn: {ADA}\nchangetype: modify\nreplace: userPassword\nuserPassword: {words[5]}\n"
    run("ldapmodify", *here.admin, "-E", "txn=commit", stdin=change)
    assert binds(here, ADA, words[5]) and binds(here, BRUNO, words[4]) and binds(here, f"uid=new,{PEOPLE}", words[0])
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        admin.modify_s(ADA, [(ldap.MOD_DELETE, "userPassword", [b"w0rd-9-unseen"])])
    here.end()
    run(PANDO, "backup", "--data", keep.data, "--to", tmp_path / "backup", code=None)
    files = [file for folder in (keep.data, tmp_path) for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 3
    traces = [form for word in [*words, "w0rd-9-unseen"] for form in forms(word)]
    for file in files:
        content = file.read_bytes().lower()
        assert not [trace for trace in traces if trace in content], file
    here = keep()
    assert binds(here, ADA, words[5]) and not binds(here, ADA, words[2])


def forms(word):
    """A word as files may have it; in base64 at each of the three places where it may begin."""
    yield word.lower().encode()
    yield word.encode().hex().encode()
    for ahead in range(3):
        text = base64.b64encode(b"x" * ahead + word.encode())
        yield text[4 if ahead else 0 : -4].lower()


def test_p5_a_bind_hashes_what_is_in_the_clear(keep, tmp_path):
    """As a directory of an earlier version has it: it works, and is a hash from the next bind on, also after a kill."""
    ldif = tmp_path / "clear.ldif"
    ldif.write_text(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n" + "".join(
        f"dn: uid={name},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: x\nsn: x\nuserPassword: {WORD}\n\n" for name in ("ada", "bruno")))
    run(PANDO, "load", "--data", keep.data, "--suffix", SUFFIX, "--passwords", "keep", ldif)
    here = keep()
    one, other = f"uid=ada,{SUFFIX}", f"uid=bruno,{SUFFIX}"
    assert stored(here, one) == [WORD] and not binds(here, one, "wrong") and stored(here, one) == [WORD]
    assert binds(here, one, WORD)
    [value] = stored(here, one)
    assert value.startswith("{ARGON2}$argon2id$")
    here.kill()
    here = keep()
    assert stored(here, one) == [value] and stored(here, other) == [WORD]
    assert binds(here, one, WORD) and not binds(here, one, value) and stored(here, one) == [value]


def test_p5_what_no_password_ever_matches_is_refused(fresh):
    admin = connect(fresh)
    for value in (b"{UNKNOWN}x", b"{SSHA}AAAA", b"{CRYPT}*", b"{SASL}ada"):
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            admin.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [value])])
    user = connect(fresh, ADA, "ada's password")
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        user.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [FOREIGN[0].encode()])])


def test_p7_names_and_passwords_that_cannot_be(fresh):
    connection = ldap.initialize(fresh.url)
    admin = connect(fresh)
    admin.add_s(f"cn=alias,{PEOPLE}", [("objectClass", [b"alias", b"extensibleObject"]), ("cn", [b"alias"]), ("aliasedObjectName", [ADA.encode()])])
    admin.add_s(f"cn=away,{PEOPLE}", [("objectClass", [b"referral", b"extensibleObject"]), ("cn", [b"away"]), ("ref", [b"ldap://elsewhere.example/"])])
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        connection.simple_bind_s(ADA, "")
    with pytest.raises(ldap.INVALID_DN_SYNTAX):
        connection.simple_bind_s("ada", "x")
    # Neither an alias nor a referral leads a bind anywhere.
    for who in ("", "cn=Monitor", f"uid=nobody,{PEOPLE}", "dc=elsewhere", f"cn=alias,{PEOPLE}", f"cn=away,{PEOPLE}", f"uid=x,cn=away,{PEOPLE}"):
        with pytest.raises(ldap.INVALID_CREDENTIALS) as raised:
            connection.simple_bind_s(who, "ada's password")
        assert not raised.value.args[0].get("info") and not raised.value.args[0].get("matched")
    begin = time.monotonic()
    for who in (ADA, f"uid=nobody,{PEOPLE}", ADMIN):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            connection.simple_bind_s(who, "x" * 10_000)
    assert time.monotonic() - begin < 5


def test_p8_searches_go_on_while_passwords_are_verified(fresh):
    """Eight connections bind without a pause by a password that takes long; another one searches all the while."""
    run("ldappasswd", *fresh.admin, "-s", WORD, ADA)
    reader, done, bound = connect(fresh), threading.Event(), []

    def bind():
        connection = ldap.initialize(fresh.url)
        while not done.is_set():
            try:
                connection.simple_bind_s(ADA, WORD)
                bound.append(True)
            except ldap.BUSY:
                bound.append(False)

    threads = [threading.Thread(target=bind) for _ in range(8)]
    for thread in threads:
        thread.start()
    begin, searches, longest = time.monotonic(), 0, 0
    while time.monotonic() - begin < 3 or bound.count(True) < 8:
        before = time.monotonic()
        assert len(reader.search_s(ADA, ldap.SCOPE_BASE)) == 1
        searches, longest = searches + 1, max(longest, time.monotonic() - before)
    done.set()
    for thread in threads:
        thread.join()
    assert searches > 300 and longest < 1, (searches, longest, len(bound))


def test_m3_guesses_are_slowed_down_and_logged(fresh):
    """A burst of a hundred, then ten a second; one line a second says how many."""
    connection = ldap.initialize(fresh.url)
    codes = []
    for number in range(130):
        try:
            connection.simple_bind_s(f"uid=u{number},{PEOPLE}", "guess-of-somebody")
        except (ldap.INVALID_CREDENTIALS, ldap.BUSY) as error:
            codes.append(type(error))
    assert codes[:100] == [ldap.INVALID_CREDENTIALS] * 100 and codes.count(ldap.BUSY) >= 10, codes.count(ldap.BUSY)
    connection.simple_bind_s("", "")
    begin = time.monotonic()
    while True:
        try:
            connection.simple_bind_s(ADA, "ada's password")
            break
        except ldap.BUSY:
            assert time.monotonic() - begin < 20
    wait_for(lambda: "binds failed" in fresh.log, "the log says how many")
    lines = [line for line in fresh.log.splitlines() if "binds failed" in line]
    assert len(lines) < 20 and "guess-of-somebody" not in fresh.log and f",{PEOPLE}" in lines[0]


@pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
def test_p2_users_of_slapd_bind_with_their_old_passwords(tmp_path):
    """Each scheme that this slapd makes: users bind there, are exported, imported, and bind here with the same password."""
    schemes = ["{SSHA}", "{SHA}", "{SMD5}", "{MD5}", "{CRYPT}", "{CLEARTEXT}"]
    modules = {"argon2": "{ARGON2}", "pw-sha2": "{SSHA512}"}
    loads = [name for name in modules if (MODULES / f"{name}.so").exists()]
    words = {scheme: f"word of {scheme[1:-1].lower()} {number}" for number, scheme in enumerate([*schemes, *(modules[name] for name in loads)])}
    settings = ["password-crypt-salt-format \"$6$%.16s\""] + [f"moduleload {name}" for name in loads]
    slapd = Slapd(tmp_path / "slapd", [], before=settings)
    try:
        admin = connect(slapd, ADMIN, SECRET)
        options = [word for name in loads for word in ("-o", f"module-path={MODULES}", "-o", f"module-load={name}")]
        for number, (scheme, word) in enumerate(words.items()):
            dn = f"uid=p{number},{PEOPLE}"
            value = slapd.tool("passwd", *options, "-h", scheme, "-s", word, "-c", "$6$%.16s").strip() if scheme != "{CLEARTEXT}" else word
            person = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"p"]), ("sn", [b"p"]), ("userPassword", [value.encode()])]
            admin.add_s(dn, person)
            assert binds(slapd, dn, word), scheme
        exported = tmp_path / "slapd.ldif"
        exported.write_text(slapd.tool("cat", "-b", SUFFIX))
    finally:
        slapd.end()
    folder = tmp_path / "pando"
    folder.mkdir()
    here = start(folder, ldif=str(exported))
    try:
        for number, (scheme, word) in enumerate(words.items()):
            dn = f"uid=p{number},{PEOPLE}"
            assert binds(here, dn, word) and not binds(here, dn, word + "x"), scheme
    finally:
        here.end()


def test_p9_verified_passwords(server):
    """P9: nothing is remembered by default; where it is, a changed, a locked and a deleted account do not pass."""
    def done(here):
        """Verifications and hashes so far, as the monitor shows them from time to time."""
        [(_, entry)] = connect(here).search_s("cn=Done,cn=Passwords,cn=Monitor", 0, attrlist=["+"])
        return int(entry["monitorCounter"][0])

    def bind(here, dn, word):
        return run("ldapwhoami", "-x", "-H", here.url, "-D", dn, "-w", word, code=None).code

    ada, word = f"uid=ada,{PEOPLE}", "the word of ada"
    # One hash, and a verification for each bind; or for the first and the wrong one.
    for seconds, expected in ((None, 7), (60, 3)):
        here = server()
        admin = connect(here)
        if seconds:
            admin.modify_s("cn=config", [(2, "pandoPasswordsCacheSeconds", [str(seconds).encode()])])
        admin.modify_s(ada, [(2, "userPassword", [word.encode()])])
        assert [bind(here, ada, each) for each in (word, word, word, word, word, "wrong")] == [0] * 5 + [49]
        wait_for(lambda: done(here) == expected, f"{done(here)}, and not {expected}")
    policy = f"cn=policy,{PEOPLE}"
    admin.add_s(policy, [("objectClass", [b"pwdPolicy", b"device"]), ("pwdAttribute", [b"userPassword"]), ("pwdLockout", [b"TRUE"])])
    admin.modify_s(ada, [(0, "pwdPolicySubentry", [policy.encode()]), (0, "pwdAccountLockedTime", [b"000001010000Z"])])
    assert bind(here, ada, word) == 49
    admin.modify_s(ada, [(1, "pwdAccountLockedTime", None)])
    assert bind(here, ada, word) == 0
    admin.modify_s(ada, [(2, "userPassword", [b"another word"])])
    assert (bind(here, ada, word), bind(here, ada, "another word")) == (49, 0)
    admin.delete_s(ada)
    assert bind(here, ada, "another word") == 49
