"""BER elements in raw bytes, for clients that choose every one of them."""


def tlv(tag, *parts):
    """One element, its length in the shortest form."""
    contents = b"".join(parts)
    size = len(contents)
    if size < 128:
        return bytes([tag, size]) + contents
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + contents


def integer(value, tag=2):
    """An INTEGER that is not negative, in the shortest form."""
    return tlv(tag, value.to_bytes(value.bit_length() // 8 + 1, "big"))


# Called with each password that is sent.
listeners = []


def ldap_bind(name, password, message_id=1):
    """A simple bind request."""
    [listener(password) for listener in listeners]
    return tlv(0x30, integer(message_id), tlv(0x60, integer(3), tlv(4, name), tlv(0x80, password)))


def head(data, at):
    """Tag, begin and end of the contents of the element at `at`, which may end behind the data; None if its tag and length are not all there."""
    if len(data) < at + 2:
        return None
    size, begin = data[at + 1], at + 2
    if size & 0x80:
        begin += size & 0x7F
        size = int.from_bytes(data[at + 2 : begin], "big")
    return (data[at], begin, begin + size) if len(data) >= begin else None


def element(data, at):
    """As `head`; None too if the element is not all there."""
    found = head(data, at)
    return found if found and found[2] <= len(data) else None
