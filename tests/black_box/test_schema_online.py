"""Definitions are added to the schema while the server runs, and used at once: on every connection, after a restart, on every node, in what is
restored."""

import ldap
import ldap.schema
import pytest

from conftest import PANDO, SECRET, SUFFIX, connect, run, start, wait_for
from test_backup_restore import now, place
from test_cluster import SUFFIX as CLUSTER_SUFFIX
from test_cluster import bound, cluster, three
from test_cluster_backup import alone, backup, restored
from test_index import index, lines

__all__ = ["cluster", "place"]

SUBSCHEMA = "cn=Subschema"
ARC = "1.3.6.1.4.1.99999"


def addition(name, number):
    """A modify that adds a type and a class that asks for it, the class first."""
    return (
        f"dn: {SUBSCHEMA}\nchangetype: modify\nadd: objectClasses\n"
        f"objectClasses: ( {ARC}.{number}.2 NAME '{name}Thing' SUP top STRUCTURAL MUST ( cn $ {name} ) )\n-\n"
        f"add: attributeTypes\nattributeTypes: ( {ARC}.{number}.1 NAME '{name}' DESC 'added' SUP name )\n"
    )


def thing(name, cn, value, suffix=SUFFIX):
    attributes = [("objectClass", [f"{name}Thing".encode()]), ("cn", [cn.encode()]), (name, [value.encode()])]
    return f"cn={cn},{suffix}", attributes


def found(connection, filter, suffix=SUFFIX):
    return [dn for dn, _ in connection.search_s(suffix, ldap.SCOPE_SUBTREE, filter, ["1.1"])]


def since(connection):
    return connection.search_s(SUBSCHEMA, ldap.SCOPE_BASE, attrlist=["modifyTimestamp"])[0][1]["modifyTimestamp"]


def test_what_is_added_is_there_at_once_and_after_a_restart(keep):
    here = keep(ldif="people.ldif")
    other = connect(here)
    with pytest.raises(ldap.UNDEFINED_TYPE):
        other.add_s(*thing("taste", "early", "x"))
    assert found(other, "(taste=sweet)") == []
    before = since(other)
    here.modify(addition("taste", 1))
    for at, connection in enumerate([other, connect(here)]):
        connection.add_s(*thing("taste", f"t{at}", "Sweet"))
    assert len(found(other, "(taste=sweet)")) == len(found(other, "(name=sweet)")) == 2
    assert since(other) >= before
    schema = ldap.schema.SubSchema(other.search_s(SUBSCHEMA, ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1])
    assert schema.get_obj(ldap.schema.AttributeType, "taste").sup == ("name",)
    assert "taste" in schema.get_obj(ldap.schema.ObjectClass, "tasteThing").must
    # Rules and indexes may name it.
    here.modify("dn: cn=config\nchangetype: modify\nadd: pandoAccessRule\npandoAccessRule: tastes: all attrs=taste; users; allow=read\n")
    here.kill()
    for ends in (True, True, False):
        here = keep()
        connection = connect(here)
        assert len(found(connection, "(taste=sweet)")) == 2
        schema = connection.search_s(SUBSCHEMA, ldap.SCOPE_BASE, attrlist=["attributeTypes", "modifyTimestamp"])[0][1]
        assert sum(b"'taste'" in value for value in schema["attributeTypes"]) == 1
        # A start that names files keeps it, too.
        if ends:
            here.end()
    here.kill()
    here = keep("--schema", "dvtds")
    connection = connect(here)
    connection.add_s(*thing("taste", "late", "sour"))
    here.modify(addition("smell", 2))
    connection.add_s(*thing("smell", "rose", "good"))
    assert len(found(connection, "(|(taste=*)(smell=*))")) == 4


def test_what_is_no_addition_is_refused(server):
    here = server()
    here.modify(addition("taste", 1))
    head = f"dn: {SUBSCHEMA}\nchangetype: modify\n"
    here.modify(addition("taste", 1), code=20)
    out = here.modify(head + "delete: attributeTypes\n", code=53).err
    assert "name the definitions that are to be deleted" in out
    out = here.modify(head + f"delete: attributeTypes\nattributeTypes: ( {ARC}.1.1 NAME 'taste' DESC 'added' SUP name )\n", code=53).err
    assert "the object class 'tasteThing'" in out
    here.modify(head + f"replace: objectClasses\nobjectClasses: ( {ARC}.3.1 NAME 'x' SUP top )\n", code=53)
    here.modify(head + "add: attributeTypes\nattributeTypes: ( 2.5.4.3 NAME 'cn' SUP name SINGLE-VALUE )\n", code=53)
    here.modify(head + "add: objectClasses\nobjectClasses: ( 2.5.6.6 NAME 'person' SUP top )\n", code=69)
    here.modify(head + f"add: attributeTypes\nattributeTypes: ( {ARC}.3.1 NAME 'x' SUP nothing )\n", code=19)
    here.modify(head + f"add: attributeTypes\nattributeTypes: ( {ARC}.3.1 NAME 'x' SYNTAX 1.2.3.4.5 )\n", code=19)
    out = here.modify(head + "add: matchingRuleUse\nmatchingRuleUse: ( 2.5.13.2 APPLIES cn )\n", code=53).err
    assert "values can be added to attributeTypes, objectClasses" in out
    for text in ("what is this", f"( {ARC}.3.1 NAME 'x' SUP name", "( x.y NAME 'x' SUP name )", f"( {ARC}.3.1 NAME x SUP name )"):
        here.modify(head + f"add: attributeTypes\nattributeTypes: {text}\n", code=21)
    here.modify(head + f"add: objectClasses\nobjectClasses: ( {ARC}.3.2 NAME 'y' SUP top KIND )\n", code=21)
    anonymous = ldap.initialize(here.url)
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        anonymous.modify_s(SUBSCHEMA, [(ldap.MOD_ADD, "attributeTypes", [f"( {ARC}.3.1 NAME 'x' SUP name )".encode()])])
    # Nothing of all this is there.
    assert not anonymous.search_s(SUBSCHEMA, ldap.SCOPE_BASE, f"(attributeTypes={ARC}.3.1)")


def test_values_are_held_to_the_syntax_of_an_added_type(server):
    here = server()
    admin = connect(here)
    kinds = [
        f"( {ARC}.5.1 NAME 'score' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )",
        f"( {ARC}.5.2 NAME 'label' EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
    ]
    classes = [f"( {ARC}.5.3 NAME 'scored' SUP top AUXILIARY MUST score MAY label )"]
    changes = [("attributeTypes", kinds), ("objectClasses", classes)]
    admin.modify_s(SUBSCHEMA, [(ldap.MOD_ADD, name, [text.encode() for text in texts]) for name, texts in changes])

    def add(cn, score, label=b"Red wine"):
        attributes = [("objectClass", [b"device", b"scored"]), ("cn", [cn.encode()]), ("score", score), ("label", [label])]
        admin.add_s(f"cn={cn},{SUFFIX}", attributes)

    with pytest.raises(ldap.INVALID_SYNTAX):
        add("a", [b"much"])
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        add("a", [b"1", b"2"])
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
        admin.add_s(f"cn=a,{SUFFIX}", [("objectClass", [b"device", b"scored"]), ("cn", [b"a"])])
    add("a", [b"9"])
    add("b", [b"10"], b"red")
    name = lambda filter: sorted(dn[3:4] for dn in found(admin, filter))
    assert name("(score=009)") == name("(score<=9)") == ["a"] and name("(score>=10)") == ["b"]
    assert name("(label=*d w*)") == ["a"] and name("(label=Red)") == [] and name("(label=red)") == ["b"]
    assert name("(label:caseIgnoreMatch:=RED)") == ["b"]
    assert name("(objectClass=scored)") == ["a", "b"]


def test_access_rules_decide_who_may(server):
    rule = f'schema: base="{SUBSCHEMA}" attrs=attributeTypes; dn="uid=bruno,ou=People,{SUFFIX}"; allow=add'
    here = server("--access-rule", rule, "--write-dn", f"uid=ada,ou=People,{SUFFIX}")
    as_user = {}
    for name in ("ada", "bruno"):
        here.modify(f"dn: uid={name},ou=People,{SUFFIX}\nchangetype: modify\nreplace: userPassword\nuserPassword: {SECRET}\n")
        as_user[name] = connect(here, f"uid={name},ou=People,{SUFFIX}")
    kind = f"( {ARC}.1.1 NAME 'taste' SUP name )".encode()
    change = [(ldap.MOD_ADD, "attributeTypes", [kind])]
    with pytest.raises(ldap.INSUFFICIENT_ACCESS) as refused:
        as_user["ada"].modify_s(SUBSCHEMA, change)
    assert "add on attributeTypes is needed" in refused.value.args[0]["info"]
    # What may be added and what not is judged when the right is there, and not before.
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        as_user["ada"].modify_s(SUBSCHEMA, [(ldap.MOD_ADD, "attributeTypes", [b"nonsense"])])
    for other in ((ldap.MOD_ADD, "objectClasses"), (ldap.MOD_DELETE, "attributeTypes")):
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            as_user["bruno"].modify_s(SUBSCHEMA, [(*other, [f"( {ARC}.1.2 NAME 'x' SUP top )".encode()])])
    as_user["bruno"].modify_s(SUBSCHEMA, change)
    with pytest.raises(ldap.TYPE_OR_VALUE_EXISTS):
        as_user["bruno"].modify_s(SUBSCHEMA, change)
    assert as_user["ada"].search_s(SUBSCHEMA, ldap.SCOPE_BASE, f"(attributeTypes={ARC}.1.1)")


def test_an_index_on_an_added_type_is_built_at_once_and_stays(keep):
    here = keep(ldif="people.ldif")
    here.modify(addition("taste", 1))
    connect(here).add_s(*thing("taste", "wine", "sweet"))
    index(here, "build", "taste:eq,sub")
    assert lines(connect(here))["taste:eq"] == "ready"
    here.kill()
    # The log alone has the type: there is no snapshot of it yet.
    for _ in range(2):
        here = keep()
        admin = connect(here)
        assert {name for name, state in lines(admin).items() if state == "ready"} >= {"taste:eq", "taste:sub"}
        assert len(found(admin, "(taste=*wee*)")) == 1
        here.end()
    assert "all as it should be" in run(PANDO, "check", "--data", keep.data).out


def test_a_directory_with_that_name_is_changed_as_a_directory(tmp_path):
    here = start(tmp_path, suffix=SUBSCHEMA)
    here.modify(f"dn: {SUBSCHEMA}\nobjectClass: device\ncn: Subschema\n", "-a")
    here.modify(f"dn: {SUBSCHEMA}\nchangetype: modify\nadd: description\ndescription: x\n")
    # These are attributes of an entry here, and no definitions.
    here.modify(addition("taste", 1))
    with pytest.raises(ldap.UNDEFINED_TYPE):
        connect(here).add_s(*thing("taste", "wine", "sweet", SUBSCHEMA))
    here.end()


def test_a_restored_directory_has_what_was_added_up_to_its_point(place, tmp_path):
    server = place.serve(ldif="people.ldif")
    admin = connect(server)
    before = now()
    server.modify(addition("taste", 1))
    admin.add_s(*thing("taste", "wine", "sweet"))
    server.modify("dn: cn=config\nchangetype: modify\nadd: pandoAccessRule\npandoAccessRule: tastes: all attrs=taste; users; allow=read\n")
    index(server, "build", "taste:eq")
    between = now()
    server.modify(addition("smell", 2))
    admin.add_s(*thing("smell", "rose", "good"))
    place.backup()
    for name, arguments, there in (
        ("early", ["--to-time", before], []),
        ("then", ["--to-time", between], ["taste"]),
        ("last", [], ["taste", "smell"]),
    ):
        data = place.folder / name
        run(PANDO, "restore", "--from", place.backups, "--data", data, *arguments)
        # Which indexes there are is not in the log. One on a type that was added later is left out.
        checked = run(PANDO, "check", "--data", data, code=None)
        assert ("taste:eq: the schema no longer has" if not there else "all as it should be") in checked.said
        here = place.serve(data=data)
        connection = connect(here)
        entry = connection.search_s(SUBSCHEMA, ldap.SCOPE_BASE, attrlist=["attributeTypes"])[0][1]
        known = [name for name in ("taste", "smell") if any(f"'{name}'".encode() in value for value in entry["attributeTypes"])]
        assert known == there, here.log
        assert len(found(connection, "(|(taste=*)(smell=*))")) == len(there)
        assert lines(connection).get("taste:eq") == ("ready" if there else None)
        if not there:
            connection.modify_s(SUBSCHEMA, [(ldap.MOD_ADD, "attributeTypes", [f"( {ARC}.1.1 NAME 'sour' SUP name )".encode()])])
        here.end()
    # An export has the definitions too, of a server and of a directory, and another server takes them.
    admin = ["--bind-dn", f"cn=admin,{SUFFIX}", "--password-file", server.folder / "password"]
    exported = []
    for name, source in (("served", ["--url", server.url, *admin]), ("left", ["--data", place.folder / "last"])):
        exported.append(tmp_path / f"{name}.schema")
        run(PANDO, "export", *source, "--schema-to", exported[-1], "-o", tmp_path / f"{name}.ldif")
    assert exported[0].read_text() == exported[1].read_text()
    other = place.serve("--schema", exported[0], data=tmp_path / "other", ldif=tmp_path / "served.ldif")
    assert len(found(connect(other), "(|(taste=sweet)(smell=good))")) == 2


def test_any_node_takes_it_and_all_have_it(cluster):
    three(cluster)
    for number, name in ((1, "taste"), (2, "smell"), (3, "sound")):
        cluster.nodes[number].modify(addition(name, number))
        for other in (2, 3, 1):
            bound(cluster.nodes[other]).add_s(*thing(name, f"{name}{other}", "Good", CLUSTER_SUFFIX))
        for node in cluster.nodes.values():
            assert len(found(bound(node), f"({name}=good)", CLUSTER_SUFFIX)) == 3
            assert len(found(bound(node), f"({name}=*OO*)", CLUSTER_SUFFIX)) == 3
    with pytest.raises(ldap.TYPE_OR_VALUE_EXISTS):
        bound(cluster.nodes[3]).modify_s(SUBSCHEMA, [(ldap.MOD_ADD, "attributeTypes", [f"( {ARC}.1.1 NAME 'taste' DESC 'added' SUP name )".encode()])])
    # An index of a node alone on such a type is there after a start of which no snapshot has the type.
    bound(cluster.nodes[3]).modify_s("cn=config", [(ldap.MOD_ADD, "olcDbIndex", [b"sound eq"])])
    wait_for(lambda: lines(bound(cluster.nodes[3])).get("sound:eq") == "ready", "the index is built")
    cluster.kill(3)
    cluster.nodes[1].modify(addition("weight", 4))
    cluster.start(3)
    cluster.wait_for_safety(1)
    bound(cluster.nodes[3]).add_s(*thing("weight", "heavy", "much", CLUSTER_SUFFIX))
    assert lines(bound(cluster.nodes[3]))["sound:eq"] == "ready"
    assert len(found(bound(cluster.nodes[3]), "(sound=good)", CLUSTER_SUFFIX)) == 3
    # A node that joins has it from the snapshot, and takes more.
    cluster.join(4, at=2)
    everything = "(|(taste=good)(smell=good)(sound=good)(weight=much))"
    assert len(found(bound(cluster.nodes[4]), everything, CLUSTER_SUFFIX)) == 10
    cluster.nodes[4].modify(addition("height", 5))
    bound(cluster.nodes[4]).add_s(*thing("height", "high", "much", CLUSTER_SUFFIX))
    cluster.kill(4)
    cluster.start(4)
    assert len(found(bound(cluster.nodes[4]), f"(|{everything}(height=much))", CLUSTER_SUFFIX)) == 11


def test_a_backup_of_a_node_has_what_was_added(cluster):
    three(cluster)
    cluster.nodes[2].modify(addition("taste", 1))
    bound(cluster.nodes[1]).add_s(*thing("taste", "wine", "sweet", CLUSTER_SUFFIX))
    wait_for(lambda: found(bound(cluster.nodes[3]), "(taste=sweet)", CLUSTER_SUFFIX), "the node has it")
    backup(cluster, 3)
    restored(cluster, "new")
    node = alone(cluster, "new")
    assert len(found(bound(node), "(name=sweet)", CLUSTER_SUFFIX)) == 1
    node.modify(addition("smell", 2))
    bound(node).add_s(*thing("smell", "rose", "good", CLUSTER_SUFFIX))
    node.end()
