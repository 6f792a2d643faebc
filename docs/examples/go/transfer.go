// Transfer hands a title from one person to another, both changes or none. It needs go-ldap.
//
// usage: transfer URL BIND-DN PASSWORD FROM-DN TO-DN TITLE
package main

import (
	"fmt"
	"os"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

const (
	start         = "1.3.6.1.1.21.1"
	specification = "1.3.6.1.1.21.2"
	end           = "1.3.6.1.1.21.3"
	assertion     = "1.3.6.1.1.12"
)

// endTransaction is the extended request that ends a transaction: SEQUENCE { commit BOOLEAN DEFAULT TRUE, identifier OCTET STRING }.
func endTransaction(identifier string, commit bool) *ldap.ExtendedRequest {
	body := ber.NewSequence("txnEndReq")
	if !commit {
		body.AppendChild(ber.NewBoolean(ber.ClassUniversal, ber.TypePrimitive, ber.TagBoolean, false, "commit"))
	}
	body.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, identifier, "identifier"))
	value := ber.NewString(ber.ClassContext, ber.TypePrimitive, 1, string(body.Bytes()), "requestValue")
	return ldap.NewExtendedRequest(end, value)
}

func transfer(connection *ldap.Conn, source, target, title string) error {
	begun, err := connection.Extended(ldap.NewExtendedRequest(start, nil))
	if err != nil {
		return err
	}
	identifier := begun.Value.Data.String()
	inside := ldap.NewControlString(specification, true, identifier)
	filter, err := ldap.CompileFilter("(title=" + ldap.EscapeFilter(title) + ")")
	if err != nil {
		return err
	}
	still := ldap.NewControlString(assertion, true, string(filter.Bytes()))

	give := ldap.NewModifyRequest(source, []ldap.Control{inside, still})
	give.Delete("title", []string{title})
	take := ldap.NewModifyRequest(target, []ldap.Control{inside})
	take.Replace("title", []string{title})
	for _, update := range []*ldap.ModifyRequest{give, take} {
		if err := connection.Modify(update); err != nil {
			// One update was refused, so none of them can be committed.
			_, _ = connection.Extended(endTransaction(identifier, false))
			return err
		}
	}
	// This may fail too: what is there now decides. Then nothing was changed.
	_, err = connection.Extended(endTransaction(identifier, true))
	return err
}

func run(url, bindDN, password, source, target, title string) error {
	connection, err := ldap.DialURL(url)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.Bind(bindDN, password); err != nil {
		return err
	}
	return transfer(connection, source, target, title)
}

func main() {
	a := os.Args
	if err := run(a[1], a[2], a[3], a[4], a[5], a[6]); err != nil {
		fmt.Fprintln(os.Stderr, "nothing was changed:", err)
		os.Exit(1)
	}
	fmt.Println("both were changed")
}
