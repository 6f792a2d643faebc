# Net::LDAP: log-ins, pages, sorting, updates, LDIF. Prints a line for each.
# usage: net_ldap_updates.pl PORT DN PASSWORD SUFFIX USER-DN WORD...
use strict;
use warnings;
use Net::LDAP;
use Net::LDAP::Control::Paged;
use Net::LDAP::Control::Sort;
use Net::LDAP::Constant qw(LDAP_CONTROL_PAGED);
use Net::LDAP::Extension::SetPassword;
use Net::LDAP::LDIF;
use Net::LDAP::Schema;

my ($port, $dn, $password, $suffix, $user, @words) = @ARGV;
binmode STDOUT, ":utf8";

sub connected {
    my $made = Net::LDAP->new("127.0.0.1", port => $port, timeout => 60, onerror => $_[0]) or die $@;
    return $made;
}

print "log-in ", join(" ", map { connected(undef)->bind($user, password => $_)->error_name } @words), "\n";
my $ldap = connected("die");
$ldap->bind($dn, password => $password);
my $root = $ldap->root_dse;
print "contexts ", join(" ", $root->get_value("namingContexts")), " ", $root->supported_control(LDAP_CONTROL_PAGED) ? "pages" : "", "\n";
my $schema = $ldap->schema;
print "schema ", join(" ", sort map { $_->{name} } $schema->must("person")), "\n";

my ($pages, $count, $page) = (0, 0, Net::LDAP::Control::Paged->new(size => 4, critical => 1));
while (1) {
    my $found = $ldap->search(base => $suffix, filter => "(objectClass=*)", attrs => ["1.1"], control => [$page]);
    $pages++;
    $count += $found->count;
    my $cookie = ($found->control(LDAP_CONTROL_PAGED))[0]->cookie or last;
    $page->cookie($cookie);
}
print "pages $pages $count\n";
my $sorted = $ldap->search(base => $suffix, filter => "(mail=*)", attrs => ["sn"], control => [Net::LDAP::Control::Sort->new(order => "-sn")]);
print "sorted ", join(" ", map { $_->get_value("sn") } $sorted->entries), "\n";

my $new = "cn=new \\2C one,ou=People,$suffix";
my $entry = Net::LDAP::Entry->new($new, objectClass => ["inetOrgPerson"], cn => "new , one", sn => "One", title => ["a", "b"]);
$entry->update($ldap);
my $again = connected(undef);
$again->bind($dn, password => $password);
print "refused ", $again->add($entry)->error_name, " ", $again->modify($new, replace => {uidNumber => 1})->error_name, "\n";
$entry->changetype("modify");
$entry->delete(title => ["a"]);
$entry->add(mail => "new\@example.com");
$entry->update($ldap);
$ldap->set_password(user => $new, newpasswd => "a new word");
print "own password ", connected(undef)->bind($new, password => "a new word")->error_name, "\n";
$ldap->moddn($new, newrdn => "cn=moved", deleteoldrdn => 1, newsuperior => "ou=Empty,$suffix");
my $moved = $ldap->search(base => "cn=moved,ou=Empty,$suffix", scope => "base", filter => "(objectClass=*)", attrs => ["cn", "title", "mail"]);
open(my $text, ">", \my $ldif);
Net::LDAP::LDIF->new($text, "w", onerror => "die", sort => 1, wrap => 0)->write_entry($moved->entries);
close($text);
print "moved ", join(" | ", grep { length } split(/\n/, $ldif)), "\n";
print "compared ", $again->compare("cn=moved,ou=Empty,$suffix", attr => "title", value => "B")->error_name, "\n";
$ldap->delete("cn=moved,ou=Empty,$suffix");
print "left ", $ldap->search(base => $suffix, filter => "(cn=moved)")->count, "\n";
