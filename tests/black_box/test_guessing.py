"""What a client may not read it does not find out by asking otherwise: with real clients, as a user of the directory has them."""

import ldap
import pytest
from ldap.controls.readentry import PreReadControl

from conftest import ADMIN, PEOPLE, SUFFIX, connect, run

ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORD = "ada's password"
HASH = "{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0="
WRONG = "{SHA}AAAANkcGgWq6PiVxeFDCbJzQ2J0="


def outcome(act):
    """What a client sees of a request: code, text and result."""
    try:
        return 0, "", act()
    except ldap.LDAPError as error:
        said = error.args[0]
        return said["result"], said.get("info", ""), None


@pytest.fixture
def hidden(fresh):
    """Bruno has a hash that is known here, so a right guess can be made; Ada may read everything but secrets."""
    connect(fresh).modify_s(BRUNO, [(ldap.MOD_REPLACE, "userPassword", [HASH.encode()])])
    fresh.user = connect(fresh, ADA, WORD)
    return fresh


def test_x1_nothing_is_learnt_of_a_password_by_filters(hidden):
    """The CVE-2018-10919 class: a value that is guessed octet by octet."""
    forms = [
        "(userPassword={0})",
        "(userPassword={0}*)",
        "(userPassword=*{1}*)",
        "(userPassword>={0})",
        "(userPassword<={0})",
        "(userPassword~={0})",
        "(userPassword:2.5.13.17:={0})",
        "(userPassword:dn:={0})",
        "(:2.5.13.17:={0})",
        "(!(userPassword={0}))",
        "(!(userPassword={0}*))",
        "(&(uid=bruno)(!(userPassword:2.5.13.17:={0})))",
        "(|(userPassword={0})(uid=nobody))",
        "(userPassword;x-a={0})",
        "(2.5.4.35={0})",
    ]
    for form in forms:
        asked = [form.format(value, value[6:12]) for value in (HASH, WRONG)]
        for base, scope in ((SUFFIX, ldap.SCOPE_SUBTREE), (BRUNO, ldap.SCOPE_BASE)):
            right, wrong = (outcome(lambda: sorted(dn for dn, _ in hidden.user.search_s(base, scope, text, ["1.1"]))) for text in asked)
            assert right == wrong, (form, right, wrong)
    # Whether there is one at all shows no more: what has one is as what has none.
    for text in ("(userPassword=*)", "(!(userPassword=*))", "(&(objectClass=*)(userPassword=*))", "(|(objectClass=*)(userPassword=*))"):
        one, other = (outcome(lambda: len(hidden.user.search_s(dn, ldap.SCOPE_BASE, text, ["1.1"]))) for dn in (BRUNO, PEOPLE))
        assert one == other, text


def test_x1_nor_by_compares_and_changes(hidden):
    user = hidden.user
    compared = [outcome(lambda: user.compare_s(BRUNO, name, value)) for name, value in (("userPassword", HASH), ("userPassword", WRONG), ("userPassword", "abc"))]
    assert len(set(compared)) == 1, compared
    changes = [
        lambda value: [(ldap.MOD_DELETE, "userPassword", [value.encode()])],
        lambda value: [(ldap.MOD_ADD, "userPassword", [value.encode()])],
        lambda value: [(ldap.MOD_DELETE, "userPassword", [value.encode()]), (ldap.MOD_ADD, "userPassword", [b"x"])],
    ]
    for change in changes:
        seen = [outcome(lambda: user.modify_s(BRUNO, change(value))) for value in (HASH, WRONG)]
        assert seen[0] == seen[1] and seen[0][0] != 0, seen
    message = user.modify_ext(BRUNO, [(ldap.MOD_REPLACE, "title", [b"x"])], serverctrls=[PreReadControl(True, ["userPassword"])])
    assert outcome(lambda: user.result3(message))[0] == ldap.INSUFFICIENT_ACCESS.errnum
    assert HASH not in run("ldapsearch", "-x", "-H", hidden.url, "-D", ADA, "-w", WORD, "-b", BRUNO, "*", "+", "userPassword").said


def test_x1_an_attribute_that_is_hidden_is_as_one_that_is_absent(server, tmp_path):
    """500 guesses, the right one among them: each answer is that of a guess at an attribute that nobody has."""
    config = tmp_path / "pando.toml"
    config.write_text('[[access.rule]]\nname = "hide"\nto = { all = true, attrs = ["description"] }\nby = [{ users = true }]\ndeny = ["see"]\nrank = 5\n')
    here = server("--config", config)
    connect(here).modify_s(BRUNO, [(ldap.MOD_REPLACE, "description", [b"guess 250"])])
    user = connect(here, ADA, WORD)
    seen = {name: set() for name in ("description", "x121Address")}
    compared = set()
    for number in range(500):
        for name, answers in seen.items():
            text = f"(|({name}=guess {number})({name}=guess {number}*)(&(uid=ada)({name}=*)))"
            answers.add(str(outcome(lambda: user.search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["description", "uid"]))))
        compared.add(str(outcome(lambda: user.compare_s(BRUNO, "description", f"guess {number}"))))
    assert seen["description"] == seen["x121Address"] and len(seen["description"]) == 1, seen
    # That compares of it are not allowed the rule says, and nothing of the entry.
    assert len(compared) == 1 and "insufficient rights" in compared.pop()


def test_x6_rights_come_before_names(hidden):
    """Adds, deletes and renames of names that are there and of others are refused alike."""
    user = hidden.user
    person = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"])]
    absent = f"uid=nobody,{PEOPLE}"
    added = [outcome(lambda: user.add_s(dn, person)) for dn in (BRUNO, absent)]
    assert added[0] == added[1] and added[0][0] == 50
    for new in ("uid=bruno", "uid=free"):
        assert outcome(lambda: user.rename_s(ADA, new))[0] == 50, new
    # To its own name, in other letters or not, is a rename all the same.
    for new in ("uid=ada", "UID=Ada", "uid=ADA"):
        for old in (True, False):
            assert outcome(lambda: user.rename_s(ADA, new, delold=old))[0] == 50, new


def test_x7_not_even_inside_an_add(server, tmp_path):
    """Who may create entries with all attributes but operational ones writes no state, and no referral without the right to its attribute."""
    config = tmp_path / "pando.toml"
    rules = (("create", 'attrs = ["entry", "*", "!ref"]', '["edit", "write", "see"]'),)
    text = ""
    for name, attributes, rights in rules:
        text += f'[[access.rule]]\nname = "{name}"\nto = {{ subtree = "{PEOPLE}", {attributes} }}\nby = [{{ dn = "{ADA}" }}]\nallow = {rights}\n'
    config.write_text(text)
    here = server("--config", config)
    user = connect(here, ADA, WORD)
    person = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"])]
    dn = f"uid=new,{PEOPLE}"
    for name, value in (("pwdReset", b"FALSE"), ("pwdPolicySubentry", SUFFIX.encode()), ("pwdAccountLockedTime", b"20200101000000Z"), ("pwdChangedTime", b"20990101000000Z"),
                        ("ref", b"ldap://elsewhere/")):
        assert outcome(lambda: user.add_s(dn, [*person, (name, [value])]))[0] == 50, name
        assert outcome(lambda: user.modify_s(BRUNO, [(ldap.MOD_REPLACE, name, [value])]))[0] == 50, name
    user.add_s(dn, person)
    assert connect(here, ADMIN).search_s(dn, ldap.SCOPE_BASE, attrlist=["sn"])
