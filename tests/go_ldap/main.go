// What go-ldap does with the server.
//
// usage: go-ldap tls PORT SECURE-PORT SOCKET DN PASSWORD AUTHORITY...
// StartTLS, ldaps and ldapi: prints a line for each way and authority: who the client is then, or "refused" if it does not trust the server.
//
// usage: go-ldap policy PORT
// Binds and prints what the library understands of the controls of the answer. Each line of the input is "ask" or "unasked" (whether the client asks
// what the policy says), a name and a password, with tabs between them.
//
// usage: go-ldap updates PORT DN PASSWORD SUFFIX USER-DN WORD...
// Log-ins with each of these words, pages, sorting, updates: prints a line for each.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"strings"

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

func ways(port, secure, socket, dn, password string, authorities []string) {
	for _, authority := range authorities {
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

func said(result *ldap.SimpleBindResult, err error) string {
	code := uint16(ldap.LDAPResultSuccess)
	if refused, is := err.(*ldap.Error); is {
		code = refused.ResultCode
	}
	text := fmt.Sprint("code ", code)
	for _, control := range result.Controls {
		switch control := control.(type) {
		case *ldap.ControlBeheraPasswordPolicy:
			text += " policy"
			if control.Error >= 0 {
				text += fmt.Sprint(" error ", control.Error)
			}
			if control.Grace >= 0 {
				text += fmt.Sprint(" grace ", control.Grace)
			}
			if control.Expire >= 0 {
				text += fmt.Sprint(" seconds ", control.Expire)
			}
		case *ldap.ControlVChuPasswordMustChange:
			text += " expired"
		case *ldap.ControlVChuPasswordWarning:
			text += fmt.Sprint(" expiring ", control.Expire)
		}
	}
	return text
}

func policies(port string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\t")
		var controls []ldap.Control
		if parts[0] == "ask" {
			controls = append(controls, ldap.NewControlBeheraPasswordPolicy())
		}
		connection := dial("ldap://localhost:" + port)
		fmt.Println(said(connection.SimpleBind(ldap.NewSimpleBindRequest(parts[1], parts[2], controls))))
		connection.Close()
	}
}

func main() {
	switch arguments := os.Args[2:]; os.Args[1] {
	case "tls":
		ways(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5:])
	case "policy":
		policies(arguments[0])
	case "updates":
		updates(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5:])
	}
}
