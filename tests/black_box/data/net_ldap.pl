# Net::LDAP: StartTLS, ldaps and ldapi. usage: net_ldap.pl PORT SECURE-PORT SOCKET DN PASSWORD AUTHORITY...
# Prints a line for each way and authority: who the client is then, or "refused" if it does not trust the server.
use strict;
use warnings;
use Net::LDAP;
use Net::LDAP::Extension::WhoAmI;

my ($port, $secure, $socket, $dn, $password, @authorities) = @ARGV;

sub who {
    my ($ldap) = @_;
    my $bound = $ldap->bind($dn, password => $password);
    die $bound->error if $bound->code;
    my $who = $ldap->who_am_i->response;
    $ldap->unbind;
    return $who;
}

foreach my $authority (@authorities) {
    my @trust = (verify => "require", cafile => $authority);
    my $plain = Net::LDAP->new("localhost", port => $port, timeout => 60) or die $@;
    my $done = $plain->start_tls(@trust);
    print "StartTLS ", $done->code ? "refused" : who($plain), "\n";
    my $secured = Net::LDAP->new("ldaps://localhost:$secure", @trust, timeout => 60);
    print "ldaps ", $secured ? who($secured) : "refused", "\n";
}
my $local = Net::LDAP->new("ldapi://" . $socket =~ s{/}{%2F}gr) or die $@;
print "ldapi ", who($local), "\n";
