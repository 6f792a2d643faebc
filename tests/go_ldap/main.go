// go-ldap: StartTLS, ldaps and ldapi. Prints a line for each way and authority: who the client is then, or "refused" if it does not trust the
// server. usage: go-ldap PORT SECURE-PORT SOCKET DN PASSWORD AUTHORITY...
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"

	"github.com/go-ldap/ldap/v3"
)

func trusting(authority string) *tls.Config {
	text, err := os.ReadFile(authority)
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		log.Fatal("no certificate is in ", authority)
	}
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

func who(connection *ldap.Conn, dn, password string) string {
	defer connection.Close()
	if err := connection.Bind(dn, password); err != nil {
		log.Fatal(err)
	}
	answer, err := connection.WhoAmI(nil)
	if err != nil {
		log.Fatal(err)
	}
	return answer.AuthzID
}

func dial(url string, options ...ldap.DialOpt) *ldap.Conn {
	connection, err := ldap.DialURL(url, options...)
	if err != nil {
		log.Fatal(err)
	}
	return connection
}

func main() {
	port, secure, socket, dn, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	for _, authority := range os.Args[6:] {
		connection := dial("ldap://localhost:" + port)
		if err := connection.StartTLS(trusting(authority)); err != nil {
			fmt.Println("StartTLS refused")
		} else {
			fmt.Println("StartTLS", who(connection, dn, password))
		}
		secured, err := ldap.DialURL("ldaps://localhost:"+secure, ldap.DialWithTLSConfig(trusting(authority)))
		if err != nil {
			fmt.Println("ldaps refused")
		} else {
			fmt.Println("ldaps", who(secured, dn, password))
		}
	}
	fmt.Println("ldapi", who(dial("ldapi://"+socket), dn, password))
}
