"""P9: passwords with a one-time code behind them. The codes come from a program of others, pyotp, as the device of a user has them; the server's clock is
one that the test moves.
"""

import base64
import struct
import time

import ldap
import pyotp
import pytest

from conftest import PANDO, PEOPLE, connect, preloaded, run

# The time of day stands still until the test moves it: 8 octets of a file, seconds since 1970.
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static const volatile long *seconds;
static void __attribute__((constructor)) begin(void) {
    int file = open(getenv("TIME_OF_DAY"), O_RDONLY);
    void *at = mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) abort();
    close(file);
    seconds = at;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = syscall(SYS_clock_gettime, clock, at);
    if (clock == CLOCK_REALTIME && seconds) *at = (struct timespec){.tv_sec = *seconds};
    return result;
}
"""
WORD, SUCCESS, INVALID_CREDENTIALS = "the word of a user", 0, 49
# What slapd's module calls them, how a device is told of the algorithm, and a scheme for the password: fast ones, and one that a thread of its own verifies.
FORMS = [("{TOTP1ANDPW}", "SHA1", "ssha"), ("{TOTP256ANDPW}", "SHA256", "argon2id"), ("{TOTP512ANDPW}", "SHA512", "ssha512")]


class Clock:
    """The time of day of a server."""

    def __init__(self, folder):
        self.file = folder / "time"
        # The middle of a half minute.
        self.set(int(time.time()) // 30 * 30 + 15)
        self.env = {**preloaded(folder, SHIM), "TIME_OF_DAY": str(self.file)}

    def set(self, seconds):
        self.now = seconds
        if not self.file.exists():
            self.file.write_bytes(bytes(8))
        # In place: the server looks at this very file.
        with open(self.file, "r+b") as file:
            file.write(struct.pack("l", seconds))


def whoami(here, dn, word):
    tool = run("ldapwhoami", "-x", "-H", here.url, "-D", dn, "-w", word, code=None)
    assert (tool.out.strip() == f"dn:{dn}") == (tool.code == 0), tool
    return tool.code


def python_ldap(here, dn, word):
    try:
        return SUCCESS if connect(here, dn, word).whoami_s() == f"dn:{dn}" else None
    except ldap.INVALID_CREDENTIALS:
        return INVALID_CREDENTIALS


def hashed(scheme):
    return run(PANDO, "password", "hash", "--scheme", scheme, stdin=f"{WORD}\n").out.strip()


def enrolled(form, algorithm, stored):
    """A device that has taken the key from the text of a picture, and what the administrator stores."""
    key = pyotp.random_base32()
    device = pyotp.parse_uri(f"otpauth://totp/Example:user?secret={key}&issuer=Example&algorithm={algorithm}&digits=6&period=30")
    return device, f"{form}{key}|{stored}"


def person(name, stored):
    """As slapcat writes it."""
    return (f"dn: uid={name},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n"
            f"userPassword:: {base64.b64encode(stored.encode()).decode()}\n\n")


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


def test_p9_codes_of_a_device(server, clock, tmp_path):
    """Right, late, early, used twice, for values that were imported from slapd and for one that is set; both clients, each with what the other has used."""
    people, text = [], f"dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n\n"
    for number, (form, algorithm, scheme) in enumerate(FORMS):
        stored = hashed(scheme)
        for clients in ((whoami, python_ldap), (python_ldap, whoami)):
            name = f"{algorithm}-{clients[0].__name__}"
            device, value = enrolled(form, algorithm, stored)
            text += person(name, value)
            people.append((f"uid={name},{PEOPLE}", device, clients))
    (tmp_path / "people.ldif").write_text(text)
    here = server(ldif=str(tmp_path / "people.ldif"), env=clock.env)
    device, value = enrolled(*FORMS[0][:2], hashed("ssha"))
    set_later = f"uid=SHA1-whoami,{PEOPLE}"
    connect(here).modify_s(set_later, [(ldap.MOD_REPLACE, "userPassword", value.encode())])
    people[0] = (set_later, device, people[0][2])
    started = clock.now

    def codes(dn, device, client, *apart):
        """What a bind with the code of a device is answered whose clock is so many seconds ahead of the server's."""
        return [client(here, dn, WORD + device.at(clock.now + at)) for at in apart]

    # Those of the first minute may have been used before the start.
    for dn, device, (first, second) in people:
        assert codes(dn, device, first, 0, 30) == [INVALID_CREDENTIALS] * 2, dn
    clock.set(started + 90)
    for dn, device, (first, second) in people:
        code = device.at(clock.now)
        for word in (WORD, code, f"{WORD}x{code}", f"wrong{code}"):
            assert first(here, dn, word) == INVALID_CREDENTIALS, (dn, word)
        assert codes(dn, device, first, -60, 60) == [INVALID_CREDENTIALS] * 2, dn
        for apart in (-30, 0, 30):
            assert codes(dn, device, first, apart) == [SUCCESS], (dn, apart)
            assert codes(dn, device, second, apart) == [INVALID_CREDENTIALS], (dn, apart)
        assert codes(dn, device, second, 0) == [INVALID_CREDENTIALS], (dn, "older than one that was used")
    clock.set(started + 150)
    for dn, device, (first, second) in people:
        assert codes(dn, device, second, -30, 0) == [INVALID_CREDENTIALS, SUCCESS], dn


def test_p9_forms_of_a_value(server, clock):
    """A key in small letters with padding is the same one; slapd's values without a password are no password here."""
    here = server(env=clock.env)
    ada, admin = f"uid=ada,{PEOPLE}", connect(here)
    clock.set(clock.now + 90)
    stored, key = hashed("ssha"), pyotp.random_base32(34)
    for value in (f"{{totp1andpw}}{key.lower()}======|{stored}", f"{{TOTP1ANDPW}}{key}|{stored}"):
        admin.modify_s(ada, [(ldap.MOD_REPLACE, "userPassword", value.encode())])
        assert whoami(here, ada, WORD + pyotp.TOTP(key).at(clock.now)) == SUCCESS
        clock.set(clock.now + 30)
    for value in (f"{{TOTP1}}{key}", f"{{TOTP256}}{key}", f"{{TOTP512}}{key}", f"{{TOTP1ANDPW}}{key}", f"{{TOTP1ANDPW}}{key}|{{TOTP1ANDPW}}{key}|{stored}"):
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            admin.modify_s(ada, [(ldap.MOD_REPLACE, "userPassword", value.encode())])
    assert whoami(here, ada, WORD + pyotp.TOTP(key).at(clock.now)) == SUCCESS, "it is as it was"
