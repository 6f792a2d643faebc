"""Programs of others that ask a directory, each with a configuration of its own: mail, web, RADIUS and sudo of a machine whose users are there. All ask by
StartTLS, and know the authority of the server's certificate by a file.
"""

import os
import socket
from pathlib import Path

import logins
from conftest import PEOPLE, SUFFIX, lasting_port, wait_for

# Files of packages as .ci/packages unpacks them.
FILES = Path(os.environ.get("PROGRAM_FILES", "/nonexistent"))
SCHEMA_OF_SUDO = FILES / "usr/share/doc/sudo-ldap/schema.olcSudo"
# The name that programs search with.
SERVICE, SERVICE_WORD = f"cn=programs,{SUFFIX}", "the word of programs"
# Two users of data/people.ldif, and one whom that name may not see.
ADA_WORD, BRUNO_WORD, HIDDEN_WORD = "ada's password", "bruno's password", "the word of hidden"
HIDDEN = f"uid=hidden,{PEOPLE}"
SUDOERS = f"ou=Sudoers,{SUFFIX}"
LDIF = f"""
dn: {SERVICE}
objectClass: device
objectClass: simpleSecurityObject
userPassword: {SERVICE_WORD}

dn: {HIDDEN}
objectClass: inetOrgPerson
objectClass: posixAccount
cn: Hidden
sn: Hidden
mail: hidden@example.com
uidNumber: 1003
gidNumber: 1000
homeDirectory: /srv/hidden
userPassword: {HIDDEN_WORD}

dn: {SUDOERS}
objectClass: organizationalUnit

dn: cn=defaults,{SUDOERS}
objectClass: sudoRole
sudoOption: !lecture

dn: cn=identity,{SUDOERS}
objectClass: sudoRole
sudoUser: ada
sudoHost: ALL
sudoCommand: /usr/bin/id
sudoOption: !authenticate

dn: cn=hidden,{SUDOERS}
objectClass: sudoRole
sudoUser: bruno
sudoHost: ALL
sudoCommand: ALL
"""
RULES = [
    # Who asks without TLS finds nothing.
    f'clear: all attrs=entry,**; dn="{SERVICE}" tls=!1; deny=see rank=20',
    f'hidden: base="{HIDDEN}" attrs=entry,**; dn="{SERVICE}"; deny=see rank=10',
    f'hidden-role: base="cn=hidden,{SUDOERS}" attrs=entry,**; dn="{SERVICE}"; deny=see rank=10',
]


def lacking():
    """What there is not, that a root folder with these programs needs."""
    return logins.lacking(FILES)


def is_open(port):
    """Does somebody listen at it?"""
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def begin(machine, port, *command):
    """A daemon that listens at a port, ready to be asked."""
    daemon = machine.daemon(*command)

    def listens():
        assert daemon.process.poll() is None, daemon.log
        return is_open(port)

    wait_for(listens, f"{command[0]} does not start")
    return daemon


def sudo(machine, ldap_port, authority):
    """sudo with the rules of the directory alone; ada and bruno are users of the machine."""
    machine.write("/etc/sudo-ldap.conf", f"""uri ldap://127.0.0.1:{ldap_port}
ssl start_tls
tls_checkpeer yes
tls_cacertfile {authority}
sudoers_base {SUDOERS}
binddn {SERVICE}
bindpw {SERVICE_WORD}
""")
    machine.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\nsudoers: ldap\n", mode=0o644)
    # No password helps.
    machine.write("/etc/pam.d/sudo", "auth required pam_deny.so\naccount required pam_permit.so\nsession required pam_permit.so\n", mode=0o644)
    users = Path("/etc/passwd").read_text() + "ada:x:1001:1000::/:/bin/sh\nbruno:x:1002:1000::/:/bin/sh\n"
    machine.write("/etc/passwd", users, mode=0o644)


def postfix(machine, ldap_port, authority):
    """Two tables of Postfix: the mailbox of an address, and the addresses of a group's members, which are names of entries."""
    common = f"""server_host = ldap://127.0.0.1:{ldap_port}
version = 3
start_tls = yes
tls_require_cert = yes
tls_ca_cert_file = {authority}
bind = yes
bind_dn = {SERVICE}
bind_pw = {SERVICE_WORD}
"""
    settings = {
        "main": "compatibility_level = 3.7\nmail_owner = daemon\nsetgid_group = mail\nmyhostname = localhost\ninet_interfaces = 127.0.0.1\n",
        "dynamicmaps": "ldap\tpostfix-ldap.so\tdict_ldap_open\n",
        "mailbox": f"{common}search_base = {PEOPLE}\nquery_filter = (mail=%s)\nresult_attribute = uid\nresult_format = %s/Maildir/\n",
        "members": f"{common}search_base = {SUFFIX}\nquery_filter = (&(objectClass=groupOfNames)(cn=%u))\n"
        "special_result_attribute = member\nleaf_result_attribute = mail\n",
    }
    for name, text in settings.items():
        # A file of just now might be written yet: it is read again and again for two seconds.
        os.utime(machine.write(f"/etc/postfix/{name}.cf", text, mode=0o644), (0, 0))


def dovecot(machine, ldap_port, authority):
    """Dovecot, which looks users up and tries their passwords by a bind. Returns the port of IMAP."""
    port = lasting_port()
    machine.write("/etc/dovecot/ldap.conf", f"""uris = ldap://127.0.0.1:{ldap_port}
dn = {SERVICE}
dnpass = {SERVICE_WORD}
tls = yes
tls_require_cert = demand
tls_ca_cert_file = {authority}
auth_bind = yes
base = {PEOPLE}
user_filter = (&(objectClass=posixAccount)(uid=%u))
user_attrs = homeDirectory=home,uidNumber=uid,gidNumber=gid
iterate_filter = (objectClass=posixAccount)
iterate_attrs = uid=user
pass_filter = (&(objectClass=posixAccount)(|(uid=%u)(mail=%u)))
pass_attrs = uid=user
""")
    machine.write("/etc/dovecot/dovecot.conf", f"""protocols = imap
listen = 127.0.0.1
log_path = /dev/stderr
ssl = no
disable_plaintext_auth = no
default_login_user = nobody
default_internal_user = daemon
default_internal_group = daemon
mail_location = maildir:/tmp/mail-%u
first_valid_uid = 500
first_valid_gid = 500
auth_failure_delay = 0
passdb {{
  driver = ldap
  args = /etc/dovecot/ldap.conf
}}
userdb {{
  driver = ldap
  args = /etc/dovecot/ldap.conf
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
  # Failures of an address delay no others.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
""")
    begin(machine, port, "dovecot", "-F")
    return port


def apache(machine, ldap_port, authority):
    """Apache with three folders: for users, for a group, and for whom a filter matches. Returns its port."""
    port = lasting_port()
    url = f'"ldap://127.0.0.1:{ldap_port}/{PEOPLE}?uid?sub?(objectClass=person)" STARTTLS'
    folders = {"users": "valid-user", "staff": f"ldap-group cn=staff,ou=Groups,{SUFFIX}", "chairs": "ldap-filter title=Chair"}
    modules = ("authn_core", "authz_core", "authz_user", "auth_basic", "ldap", "authnz_ldap", "mpm_event")
    lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules]
    lines.append(f"LDAPTrustedGlobalCert CA_BASE64 {authority}")
    for folder, whom in folders.items():
        machine.write(f"/srv/{folder}/page", f"for {folder}\n", mode=0o644)
        lines.append(f"""<Location /{folder}>
AuthType Basic
AuthName directory
AuthBasicProvider ldap
AuthLDAPURL {url}
AuthLDAPBindDN "{SERVICE}"
AuthLDAPBindPassword "{SERVICE_WORD}"
AuthLDAPRemoteUserAttribute cn
Require {whom}
</Location>""")
    machine.write("/etc/apache2/own.conf", "\n".join(lines) + f"""
ServerRoot /etc/apache2
ServerName localhost
Listen 127.0.0.1:{port}
PidFile /run/apache.pid
DefaultRuntimeDir /run
ErrorLog /dev/stderr
User www-data
Group www-data
DocumentRoot /srv
""")
    begin(machine, port, "apache2", "-f", "/etc/apache2/own.conf", "-DFOREGROUND")
    return port


def freeradius(machine, ldap_port, authority):
    """FreeRADIUS, which looks users up, tries their passwords by a bind, and asks for their groups. Returns its port."""
    port = lasting_port()
    machine.write("/etc/radius/radiusd.conf", f"""prefix = /usr
libdir = /usr/lib/freeradius
run_dir = /run
modconfdir = /etc/radius
checkrad = /usr/sbin/checkrad
log {{
  destination = stdout
}}
security {{
  allow_core_dumps = no
  reject_delay = 0
  status_server = no
  allow_vulnerable_openssl = yes
}}
thread pool {{
  start_servers = 1
  max_servers = 2
}}
client localhost {{
  ipaddr = 127.0.0.1
  secret = testing
}}
modules {{
  ldap {{
    server = 'ldap://127.0.0.1:{ldap_port}'
    identity = '{SERVICE}'
    password = '{SERVICE_WORD}'
    base_dn = '{SUFFIX}'
    tls {{
      start_tls = yes
      ca_file = '{authority}'
      require_cert = 'demand'
    }}
    user {{
      base_dn = '{PEOPLE}'
      filter = "(uid=%{{User-Name}})"
    }}
    group {{
      base_dn = 'ou=Groups,{SUFFIX}'
      filter = '(objectClass=groupOfNames)'
      name_attribute = cn
      membership_filter = "(member=%{{control:Ldap-UserDn}})"
    }}
    update {{
      reply:Reply-Message := 'title'
    }}
    pool {{
      start = 1
      min = 1
      max = 2
      spare = 1
      uses = 0
      lifetime = 0
      idle_timeout = 0
    }}
  }}
}}
server default {{
  listen {{
    type = auth
    ipaddr = 127.0.0.1
    port = {port}
  }}
  authorize {{
    ldap
    if (ok || updated) {{
      if (LDAP-Group == "staff") {{
        update reply {{
          Filter-Id := "staff"
        }}
      }}
      update control {{
        Auth-Type := ldap
      }}
    }}
  }}
  authenticate {{
    Auth-Type ldap {{
      ldap
    }}
  }}
}}
""")
    daemon = machine.daemon("freeradius", "-f", "-l", "stdout", "-d", "/etc/radius")
    wait_for(lambda: "Ready to process requests" in daemon.log or daemon.process.poll() is not None, "freeradius does not start")
    assert daemon.process.poll() is None, daemon.log
    return port


def phpldapadmin(machine, ldap_port, authority):
    """phpLDAPadmin on PHP's own web server. Returns its port."""
    port = lasting_port()
    machine.write("/usr/share/phpldapadmin/config/config.php", f"""<?php
$config->custom->session['blowfish'] = '0123456789abcdef0123456789abcdef';
$servers = new Datastore();
$servers->newServer('ldap_pla');
$servers->setValue('server', 'name', 'Pando');
$servers->setValue('server', 'host', '127.0.0.1');
$servers->setValue('server', 'port', {ldap_port});
$servers->setValue('server', 'tls', true);
$servers->setValue('server', 'base', array('{SUFFIX}'));
$servers->setValue('login', 'auth_type', 'session');
?>
""", mode=0o644)
    machine.write("/etc/ldap/ldap.conf", f"TLS_CACERT {authority}\nTLS_REQCERT demand\n", mode=0o644)
    modules = [f"-dextension={name}" for name in ("ldap", "xml", "gettext", "iconv", "ctype", "posix", "tokenizer", "simplexml", "dom")]
    begin(machine, port, "php.default", "-n", *modules, "-dsession.save_path=/tmp", "-S", f"127.0.0.1:{port}", "-t", "/usr/share/phpldapadmin/htdocs")
    return port
