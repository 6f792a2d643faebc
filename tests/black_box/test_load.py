"""`pando load`: streams of adds, BER or LDIF, from files and FIFOs at the same time; all of them or nothing."""

import os
import re
import subprocess
import threading
import time

import pytest

from ber import tlv
from conftest import ADMIN, FOLLOWER, KILLS, PANDO, PATIENCE, SUFFIX, chances, run, start

TOP = f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"
STREAMS = 4


def unit(name, above=SUFFIX):
    return f"dn: ou={name},{above}\nobjectClass: organizationalUnit\nou: {name}\n\n"


def person(name, above=SUFFIX, rest="sn: x\n"):
    return f"dn: uid={name},{above}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: x\n{rest}\n"


def bare(record):
    """An LDIF record without folds or base64 as an AddRequest."""
    lines = [line.split(": ", 1) for line in record.strip().splitlines()]
    names = list(dict.fromkeys(name for name, _ in lines[1:]))
    values = lambda name: [tlv(4, value.encode()) for other, value in lines[1:] if other == name]
    attributes = [tlv(0x30, tlv(4, name.encode()), tlv(0x31, *values(name))) for name in names]
    return tlv(0x68, tlv(4, lines[0][1].encode()), tlv(0x30, *attributes))


def message(record, number=1):
    """The same as an LDAPMessage."""
    return tlv(0x30, b"\x02\x01" + bytes([number]), bare(record))


class Folder:
    """A data directory and streams beside it."""

    def __init__(self, path):
        self.path, self.data = path, path / "data"

    def file(self, content, name="in"):
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, *arguments, code=0, data=None, suffix=SUFFIX):
        target = ["--data", data or self.data, "--suffix", suffix]
        return run(PANDO, "load", *arguments, *target, code=code)

    def export(self, data=None):
        return run(PANDO, "export", "--data", data or self.data, "--operational", "strip").out

    def dns(self, *arguments):
        return run(PANDO, "export", "--data", self.data, *arguments).dns

    def check(self, data=None, *arguments):
        return run(PANDO, "check", "--data", data or self.data, *arguments).out

    def fifos(self, count=STREAMS):
        paths = [self.path / f"fifo-{number}" for number in range(count)]
        for path in paths:
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        return paths

    @property
    def bytes_used(self):
        """Bytes on the disk, but for the log, whose files have their length from the beginning."""
        files = [file for file in self.path.rglob("*") if file.is_file()]
        log = [file for file in files if file.suffix in (".log", ".new", ".spare")]
        assert len(log) <= 2, log
        return sum(file.stat().st_blocks * 512 for file in set(files) - set(log))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def entries(text):
    """What two directories with the same content have in common: each hashes a password with a salt of its own."""
    text = re.sub(r"^(userPassword:).*\n( .*\n)*", r"\1\n", text, flags=re.M)
    return sorted("\n".join(sorted(entry.splitlines())) for entry in text.split("\n\n") if entry.strip())


def write(path, content):
    """Fills a FIFO from a thread of its own."""
    def fill():
        try:
            with open(path, "wb") as file:
                file.write(content)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=fill)
    thread.start()
    return thread


@pytest.mark.parametrize("order", ["sorted", "subdivided", "random"])
@pytest.mark.parametrize("form", ["ber", "ldif"])
def test_four_files_four_fifos_and_one_file_are_the_same(folder, form, order):
    make = ["--template", "slamd", "--suffix", SUFFIX, "--count", 2000, "--groups", 2, "--members", 300, "--order", order]
    make = [PANDO, "gen", "-q", *make, "--format", form]
    run(*make, "-o", folder.path / "one")
    run(*make, "--streams", STREAMS, "-o", folder.path / "part-%d")
    folder.load(folder.path / "one", data=folder.path / "a")
    told = folder.load(*sorted(folder.path.glob("part-*")), data=folder.path / "b")
    assert "loaded 2,005 entries" in told.err and told.err.count("part-") == STREAMS, told
    fifos = folder.fifos()
    maker = subprocess.Popen([*map(str, make), "--streams", str(STREAMS), "-o", str(folder.path / "fifo-%d")])
    folder.load(*fifos, data=folder.path / "c")
    assert maker.wait(PATIENCE) == 0
    one = entries(folder.export(folder.path / "a"))
    assert len(one) == 2005
    for name in "bc":
        assert entries(folder.export(folder.path / name)) == one
        assert "directory  2005 entries, all as it should be" in folder.check(folder.path / name)


def test_both_forms_of_adds_are_mixed(folder):
    records = [TOP, unit("a"), person("b", f"ou=a,{SUFFIX}"), person("c"), person("d", rest="sn: y\nsn: z\n")]
    stream = b"".join(form(record) for form, record in zip([message, bare, message, bare, bare], records))
    folder.load(folder.file(stream), folder.file(person("e"), "e.ldif"))
    assert len(folder.dns()) == 6
    folder.load(folder.file("".join([*records, person("e")])), data=folder.path / "ldif")
    assert entries(folder.export()) == entries(folder.export(folder.path / "ldif"))


def test_streams_depend_on_each_other(folder):
    fifos = folder.fifos(3)
    below = "".join(person(f"p{number}", f"ou=b,ou=a,{SUFFIX}") for number in range(5000))
    texts = [below, unit("b", f"ou=a,{SUFFIX}") + person("q", f"ou=b,ou=a,{SUFFIX}"), TOP + unit("a")]
    threads = [write(fifo, text.encode()) for fifo, text in zip(fifos, texts)]
    folder.load(*fifos)
    [thread.join() for thread in threads]
    assert len(folder.dns()) == 5004


def test_one_at_a_time(folder):
    paths = [folder.file(text, str(number)) for number, text in enumerate([person("a"), "", TOP, person("b")])]
    told = folder.load("--streams", 1, *paths)
    assert "loaded 3 entries" in told.err
    assert sorted(folder.dns()) == sorted([SUFFIX, f"uid=a,{SUFFIX}", f"uid=b,{SUFFIX}"])


FAULTS = {
    "duplicate": (person("A").replace("uid=A", "uid=a"), "an entry with this DN exists"),
    "orphan": (person("b", f"ou=none,{SUFFIX}"), f"its superior ou=none,{SUFFIX} is neither in the directory nor"),
    "schema": (person("c", rest=""), "requires attribute 'sn'"),
    "unknown": (person("d", rest="sn: x\nflavour: sweet\n"), "flavour: no such attribute type"),
    "syntax": (person("e", rest="sn: x\nmanager: nobody\n"), "manager"),
    "outside": (person("f", "dc=org"), "dc=org"),
}


@pytest.mark.parametrize("form", ["ber", "ldif"])
@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_has_its_stream_and_byte(folder, form, kind):
    record, reason = FAULTS[kind]
    encode = message if form == "ber" else str.encode
    good = encode(TOP) + encode(person("a"))
    first, second = folder.file(encode(person("z")), "first"), folder.file(good + encode(record), "second")
    tool = folder.load("--streams", 1, first, second, code=1)
    place = f"{second}: byte {len(good)}: " if form == "ber" else f"{second}:"
    fault = next(line for line in tool.err.splitlines() if f"byte {len(good)}: " in line)
    assert place in fault and reason in fault, tool
    assert "not loaded" in tool.err or "given up" in tool.err, tool
    # Nothing was loaded, and what is there can be loaded into.
    folder.load("--rejects", folder.path / "out.ldif", first, second, code=1)
    assert len(folder.dns()) == 3
    text = (folder.path / "out.ldif").read_text()
    assert f"byte {len(good)}: " in text.splitlines()[0] and text.count("dn: ") == 1, text


def test_rejects_put_right_are_loaded(folder):
    stream = b"".join(map(message, [TOP, person("a", rest=""), person("b", f"ou=later,{SUFFIX}"), person("c")]))
    rejects = folder.path / "rejects.ldif"
    tool = folder.load("--rejects", rejects, folder.file(stream), code=1)
    assert "2 records were not loaded" in tool.err, tool
    rejects.write_text(unit("later") + rejects.read_text().replace("cn: x\n", "cn: x\nsn: x\n", 1))
    folder.load("--add", rejects)
    assert len(folder.dns()) == 5


def test_a_load_that_fails_leaves_no_directory_founded(folder):
    wrong = folder.file(TOP + person("a") + person("a"))
    assert "exists" in folder.load(wrong, "--operational-attributes", "off", code=1).err
    assert sorted(os.listdir(folder.data)) == ["lock"]
    folder.load(folder.file(TOP + person("a")), "--operational-attributes", "on")
    assert "entryUUID" in run(PANDO, "export", "--data", folder.data).out
    # What is there already stays, whatever comes of another load.
    folder.load(wrong, "--add", code=1)
    assert len(folder.dns()) == 2


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "standard input", "/dev/stdin"])
def test_a_stream_that_is_given_twice(folder, kind):
    one = other = folder.file(TOP + person("a"))
    if kind == "link":
        other = folder.path / "other"
        other.symlink_to(one)
    elif kind == "fifo":
        one = other = folder.fifos(1)[0]
    elif kind == "standard input":
        one = other = "-"
    elif kind == "/dev/stdin":
        one, other = "-", kind
    assert f"pando load: {other}: given twice: it is the same as {one}" in folder.load(one, other, code=1).err
    assert not (folder.data / "founding").exists()


def test_skip_and_stop(folder):
    stream = folder.file(TOP + person("a", rest="") * 30 + person("b"))
    tool = folder.load("--on-error", "stop", stream, code=1)
    assert tool.err.count("requires attribute") == 20, tool
    tool = folder.load("--on-error", "skip", stream, code=1)
    assert tool.err.count("requires attribute") == 20 and "30 records were not loaded" in tool.err, tool
    assert len(folder.dns()) == 2
    folder.load("--on-error", "stop", "--rejects", folder.path / "r", stream, code=2)


@pytest.mark.parametrize("rest, reason", [
    (message(person("x"))[:-3], "the input ends inside this add"),
    (b"garbage", "expected an LDAPMessage or an AddRequest; nothing can be read from here on"),
    (b"\x30\x80\x00\x00", "nothing can be read from here on"),
    (b"\x68\x84\xff\xff\xff\xff", "the message is too long"),
])
def test_a_stream_that_cannot_be_followed_ends_it_all(folder, rest, reason):
    good = message(TOP) + message(person("a"))
    # The other stream says nothing at all: nobody waits for it any longer.
    silent = folder.fifos(1)[0]
    handle = os.open(silent, os.O_RDWR)
    try:
        tool = folder.load("--on-error", "skip", folder.file(good + rest), silent, code=1)
    finally:
        os.close(handle)
    assert f"byte {len(good)}: " in tool.err and reason in tool.err, tool
    assert not (folder.data / "founding").exists()


@pytest.mark.parametrize("request_, reason", [
    (tlv(0x30, b"\x02\x01\x01", tlv(0x4A, b"uid=a")), "no add"),
    (tlv(0x30, b"\x02\x01\x01", bare(person("a")), tlv(0xA0, tlv(0x30, tlv(4, b"1.2.3"), b"\x01\x01\xff"))),
     "critical control"),
    (tlv(0x68, tlv(4, b"uid=a"), tlv(0x30, tlv(0x30, tlv(4, b"uid"), tlv(0x31)))), "without values"),
    (tlv(0x68, tlv(4, b"uid=a"), b"\x04\x00"), "list of attributes"),
])
def test_what_is_no_add_is_left_out(folder, request_, reason):
    stream = message(TOP) + request_ + message(person("b"))
    rejects = folder.path / "rejects.ldif"
    folder.load("--rejects", rejects, folder.file(stream), code=1)
    assert reason in rejects.read_text() and len(folder.dns()) == 2
    # What is no add is a comment, which is skipped.
    folder.load("--add", rejects)


def test_empty_streams(folder):
    fifo = folder.fifos(1)[0]
    thread = write(fifo, b"")
    told = folder.load(fifo, folder.file(b""), folder.file("version: 1\n", "version"), "/dev/null")
    thread.join()
    assert "loaded 0 entries" in told.err and folder.dns() == []


def test_a_stream_that_stalls_holds_up_nobody_else(folder):
    fifos = folder.fifos(2)
    loader = subprocess.Popen(
        [PANDO, "load", "-q", "--data", folder.data, "--suffix", SUFFIX, *fifos], stderr=subprocess.PIPE, text=True
    )
    stalled = open(fifos[0], "wb")
    # More than all buffers hold: it is read on while the other stream says nothing.
    people = "".join(person(f"p{number}") for number in range(60_000))
    thread = write(fifos[1], people.encode())
    thread.join(PATIENCE)
    assert not thread.is_alive() and loader.poll() is None
    stalled.write(message(TOP))
    stalled.close()
    assert loader.wait(PATIENCE) == 0, loader.stderr.read()
    loader.stderr.close()
    assert len(folder.dns()) == 60_001


def test_nothing_is_stored_on_the_way(folder):
    count = 150_000
    make = [PANDO, "gen", "-q", "--template", "dvtds", "--suffix", "dc=com", "--count", str(count), "--format", "ber"]
    fifos = folder.fifos()
    maker = subprocess.Popen([*make, "--streams", str(STREAMS), "-o", str(folder.path / "fifo-%d")])
    extra = folder.path / "extra"
    os.mkfifo(extra)
    loader = subprocess.Popen(
        [PANDO, "load", "-q", "--schema", "dvtds", "--data", folder.data, "--suffix", "dc=com", *fifos, extra]
    )
    last = open(extra, "wb")
    assert maker.wait(PATIENCE) == 0
    # All but nothing was read by now, and nothing of it is on the disk.
    assert folder.bytes_used < 1 << 20
    last.close()
    assert loader.wait(PATIENCE) == 0
    assert folder.bytes_used > 4 << 20
    assert f"directory  {count + 1} entries, all as it should be" in folder.check()


@pytest.mark.kills
def test_kills_at_any_moment(folder):
    make = [PANDO, "gen", "-q", "--template", "dvtds", "--suffix", "dc=com", "--count", "60000", "--format", "ber"]
    run(*make, "--streams", STREAMS, "-o", folder.path / "part-%d")
    first = folder.file("dn: dc=com\nobjectClass: domain\ndc: com\n\n")
    settings = ["--schema", "dvtds", "--operational-attributes", "off"]
    folder.load(first, *settings, suffix="dc=com")
    load = [PANDO, "load", "-q", "--schema", "dvtds", "--add", "--data", folder.data, "--on-error", "skip"]
    parts = sorted(folder.path.glob("part-*"))
    chance, seen, usual = chances("load"), {"before": 0, "whole": 0}, None
    for _ in range(max(20, KILLS)):
        began = time.monotonic()
        process = subprocess.Popen([*load, *parts], stderr=subprocess.DEVNULL)
        try:
            # The first ends by itself: the moments of the others reach from its first step to behind its last.
            process.wait(chance.uniform(0.005, 1.2 * usual) if usual else PATIENCE)
            usual = usual or time.monotonic() - began
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)
        # A note of the load may be in the log by now: it was made with this schema.
        count = len(folder.dns("--schema", "dvtds"))
        assert count in (1, 60_001)
        assert f"directory  {count} entr" in folder.check(folder.data, "--schema", "dvtds")
        seen["before" if count == 1 else "whole"] += 1
        if count > 1:
            subprocess.run(["rm", "-r", folder.data], check=True)
            folder.load(first, *settings, suffix="dc=com")
    assert seen["before"] and seen["whole"], seen


def test_a_directory_that_is_served_or_has_entries(folder, keep):
    served = keep(ldif=folder.file(TOP))
    stream = folder.file(person("a") + person("b"))
    tool = run(PANDO, "load", "--data", keep.data, stream, code=1)
    assert "--url" in tool.err, tool
    (folder.path / "password").write_text("secret\n")
    who = ["--url", served.url, "--bind-dn", ADMIN, "--password-file", folder.path / "password"]
    told = run(PANDO, "load", *who, stream, folder.file(bare(person("c")) + message(person("d")), "ber"))
    assert "loaded 4 entries" in told.err, told
    assert len(served.search("-b", SUFFIX, "1.1").dns) == 5
    tool = run(PANDO, "load", *who, "--rejects", folder.path / "r.ldif", folder.path / "ber", code=1)
    assert "2 records were not loaded" in tool.err and "byte 0: " in (folder.path / "r.ldif").read_text(), tool
    served.end()
    tool = run(PANDO, "load", "--data", keep.data, stream, code=1)
    assert ("belongs to a replica of a cluster" if FOLLOWER else "has 5 entries already") in tool.err, tool


def test_a_server_loads_streams_before_it_serves(folder, tmp_path):
    fifos = folder.fifos(2)
    threads = [write(fifos[0], message(TOP)), write(fifos[1], person("a").encode())]
    (tmp_path / "server").mkdir()
    served = start(tmp_path / "server", "--import", fifos[0], "--import", fifos[1], "--index", "uid:eq")
    [thread.join() for thread in threads]
    assert served.search("-b", SUFFIX, "(uid=a)", "1.1").dns == [f"uid=a,{SUFFIX}"]
    served.end()
