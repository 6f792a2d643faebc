"""Two network namespaces with a wire of MTU 1500 between them, over which every TCP segment goes by itself."""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

MTU = 1500
# Less the headers of IPv4 and TCP, and the timestamps.
SEGMENT_BYTES = MTU - 20 - 20 - 12
SIOCETHTOOL = 0x8946
# ETHTOOL_STSO, ETHTOOL_SGSO and ETHTOOL_SGRO of linux/ethtool.h: what would put segments together or cut them late.
SWITCHES = (0x1F, 0x24, 0x2C)


def ip(*arguments):
    """Runs ip(8)."""
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True)


def possible():
    """Can they be made here?"""
    name = f"pando-{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        ip("netns", "del", name)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


class Pair:
    """A server's namespace and a client's. `server` and `client` are what a command line begins with to run there."""

    def __init__(self):
        self.names = [f"pando-{os.getpid()}-{which}" for which in "sc"]
        self.server, self.client = (["ip", "netns", "exec", name] for name in self.names)
        self.address = "10.231.7.1"

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        """Both, and the wire."""
        for name in self.names:
            ip("netns", "add", name)
        # Both ends are made where they belong: the names are nobody else's there.
        ip("-n", self.names[0], "link", "add", "wire", "mtu", MTU, "type", "veth", "peer", "name", "wire", "mtu", MTU, "netns", self.names[1])
        for last, name in enumerate(self.names, 1):
            ip("-n", name, "address", "add", f"10.231.7.{last}/30", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "up")
            ip("-n", name, "link", "set", "lo", "up")
            subprocess.run(["ip", "netns", "exec", name, sys.executable, __file__, "wire"], check=True)

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def switch_off(interface):
    """Every segment by itself: no offloading."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for switch in SWITCHES:
            value = ctypes.create_string_buffer(struct.pack("II", switch, 0))
            fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), ctypes.addressof(value)))


if __name__ == "__main__":
    switch_off(sys.argv[1])
