"""Instructions of a command or of a server, as valgrind's callgrind counts them."""

import re
import resource
import subprocess

# The server reserves much more than it uses.
ADDRESS_SPACE = 120 << 30


def counted(command, options=(), ask=None):
    """Instructions of all threads of a command. `ask` is called with the port of a server, which is ended then."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    whole = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options, *map(str, command)]
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    if ask:
        ask(int(process.stdout.readline().rsplit(":", 1)[1]))
        process.terminate()
    _, said = process.communicate()
    return int(re.search(r"Collected : (\d+)", said).group(1))


def served(binary, folder, *arguments, root, suffix, storage=("--memory",)):
    """The command of a server, in memory or where `storage` says, with the content of `d.ldif` and the root DN's password in `password`, both in the folder."""
    return [binary, "serve", *storage, "--memory-max", "2GiB", "--suffix", suffix, "--listen", "ldap://127.0.0.1:0", "--root-dn", root,
            "--root-password-file", folder / "password", *arguments, "--import", folder / "d.ldif"]
