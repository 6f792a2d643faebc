"""bonsai for Python: objects that are entries, with libldap below, also by asyncio."""

import asyncio

import bonsai
import pytest
from bonsai import LDAPEntry, LDAPSearchScope

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX

ADA = f"uid=ada,{PEOPLE}"
SUBTREE = LDAPSearchScope.SUBTREE


def client(server, who=ADMIN, password=SECRET):
    made = bonsai.LDAPClient(server.url)
    made.set_credentials("SIMPLE", who, password)
    return made


def test_root_dse_and_who(reader):
    dse = client(reader).get_rootDSE()
    assert dse["namingContexts"] == [SUFFIX] and dse["supportedLDAPVersion"] == [3]
    with client(reader, ADA, "ada's password").connect(timeout=PATIENCE) as connection:
        assert connection.whoami() == f"dn:{ADA}"
    for who, word in ((ADA, "wrong"), (f"uid=nobody,{PEOPLE}", "ada's password")):
        with pytest.raises(bonsai.AuthenticationError):
            client(reader, who, word).connect(timeout=PATIENCE)


def test_searches(reader):
    with client(reader).connect(timeout=PATIENCE) as connection:
        [ada] = connection.search(SUFFIX, SUBTREE, "(uid=ada)", ["uidNumber", "cn", "title"])
        assert ada.dn == ADA and ada["uidNumber"] == [1001] and set(ada["CN"]) == {"Ada Okafor", "Ada"}
        paged = connection.paged_search(SUFFIX, SUBTREE, "(objectClass=*)", ["1.1"], page_size=2)
        assert len(list(paged)) == 9
        by_name = connection.search(PEOPLE, SUBTREE, "(uid=*)", ["uid"], sort_order=["-uid"])
        assert [entry["uid"][0] for entry in by_name] == ["chloé", "bruno", "ada"]
        window, response = connection.virtual_list_search(PEOPLE, SUBTREE, "(uid=*)", ["uid"], sort_order=["uid"], offset=2, before_count=0, after_count=0,
                                                          est_list_count=3)
        assert [entry["uid"][0] for entry in window] == ["bruno"] and response["target_position"] == 2 and response["list_count"] == 3
        # The library takes noSuchObject for nothing found.
        assert connection.search(f"ou=gone,{SUFFIX}", SUBTREE) == []
        with pytest.raises(bonsai.SizeLimitError):
            connection.search(SUFFIX, SUBTREE, sizelimit=2)


def test_updates(fresh):
    with client(fresh).connect(timeout=PATIENCE) as connection:
        made, again = LDAPEntry(f"uid=new,{PEOPLE}"), LDAPEntry(f"uid=new,{PEOPLE}")
        for entry in (made, again):
            entry["objectClass"], entry["uid"], entry["cn"], entry["sn"] = ["inetOrgPerson"], "new", ["Neu", "ñ"], "x"
            entry["jpegPhoto"] = b"\x00\xff\x80"
        assert connection.add(made)
        with pytest.raises(bonsai.AlreadyExists):
            connection.add(again)
        made["cn"].append("third")
        made["mail"] = "new@example.com"
        assert made.modify()
        del made["mail"]
        assert made.modify()
        made.rename(f"uid=other,ou=Empty,{SUFFIX}")
        [found] = connection.search(f"ou=Empty,{SUFFIX}", SUBTREE, "(uid=*)")
        assert set(found["cn"]) == {"Neu", "ñ", "third"} and found["jpegPhoto"] == [b"\x00\xff\x80"] and "mail" not in found
        found["uidNumber"] = 7
        with pytest.raises(bonsai.ObjectClassViolation):
            found.modify()
        connection.modify_password(found.dn, "a new word")
        with client(fresh, str(found.dn), "a new word").connect(timeout=PATIENCE) as own:
            assert own.whoami() == f"dn:{found.dn}"
        # The client's own recursion, and the control of tree delete.
        connection.delete(f"ou=Empty,{SUFFIX}", recursive=True)
        assert not connection.search(SUFFIX, SUBTREE, "(|(uid=other)(ou=Empty))")


def test_asyncio(reader):
    """Several connections wait in one thread: each carries out one operation at a time."""
    async def search(uid):
        async with client(reader).connect(is_async=True, timeout=PATIENCE) as connection:
            return len(await connection.search(SUFFIX, SUBTREE, f"(uid={uid})", ["cn"], timeout=PATIENCE))

    async def search_all():
        return await asyncio.gather(*(search(uid) for uid in ("ada", "bruno", "nobody")))

    assert asyncio.run(search_all()) == [1, 1, 0]
