"""Hands a title from one person to another, both changes or none. Needs python-ldap.

usage: transfer.py URL BIND-DN PASSWORD FROM-DN TO-DN TITLE
"""

import sys

import ldap
from ldap.controls import RequestControl
from ldap.controls.libldap import AssertionControl
from ldap.extop import ExtendedRequest
from ldap.filter import filter_format

START, SPECIFICATION, END = "1.3.6.1.1.21.1", "1.3.6.1.1.21.2", "1.3.6.1.1.21.3"


def end_value(identifier, commit):
    """SEQUENCE { commit BOOLEAN DEFAULT TRUE, identifier OCTET STRING }; an identifier has 64 bytes at most."""
    body = (b"" if commit else b"\x01\x01\x00") + bytes([4, len(identifier)]) + identifier
    return bytes([0x30, len(body)]) + body


def transfer(connection, source, target, title):
    _, identifier = connection.extop_s(ExtendedRequest(START, None))
    inside = RequestControl(SPECIFICATION, True, identifier)
    still = AssertionControl(True, filter_format("(title=%s)", [title]))
    try:
        connection.modify_ext_s(source, [(ldap.MOD_DELETE, "title", [title.encode()])], [inside, still])
        connection.modify_ext_s(target, [(ldap.MOD_REPLACE, "title", [title.encode()])], [inside])
    except ldap.LDAPError:
        # One update was refused, so none of them can be committed.
        connection.extop_s(ExtendedRequest(END, end_value(identifier, commit=False)))
        raise
    # This may fail too: what is there now decides. Then nothing was changed.
    connection.extop_s(ExtendedRequest(END, end_value(identifier, commit=True)))


if __name__ == "__main__":
    url, bind_dn, password, *people_and_title = sys.argv[1:]
    session = ldap.initialize(url)
    session.simple_bind_s(bind_dn, password)
    try:
        transfer(session, *people_and_title)
    except ldap.LDAPError as error:
        sys.exit(f"nothing was changed: {error.args[0]['desc']}")
    print("both were changed")
