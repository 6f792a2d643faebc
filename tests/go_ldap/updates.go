package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/go-ldap/ldap/v3"
)

// What an operation ends with.
func code(err error) string {
	if err == nil {
		return "Success"
	}
	refused, is := err.(*ldap.Error)
	if !is {
		log.Fatal(err)
	}
	return ldap.LDAPResultCodeMap[refused.ResultCode]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func values(found *ldap.SearchResult, name string) string {
	var all []string
	for _, entry := range found.Entries {
		all = append(all, entry.GetAttributeValues(name)...)
	}
	return strings.Join(all, " ")
}

// Log-ins, pages, sorting, updates: prints a line for each.
func updates(port, dn, password, suffix, user string, words []string) {
	address := "ldap://127.0.0.1:" + port
	var ends []string
	for _, word := range words {
		connection := dial(address)
		ends = append(ends, code(connection.Bind(user, word)))
		connection.Close()
	}
	fmt.Println("log-in", strings.Join(ends, ", "))

	connection := dial(address)
	defer connection.Close()
	must(connection.Bind(dn, password))
	search := func(base string, scope int, filter string, names ...string) *ldap.SearchRequest {
		return ldap.NewSearchRequest(base, scope, ldap.NeverDerefAliases, 0, 0, false, filter, names, nil)
	}
	found, err := connection.SearchWithPaging(search(suffix, ldap.ScopeWholeSubtree, "(objectClass=*)", "1.1"), 4)
	must(err)
	fmt.Println("pages", len(found.Entries))
	sorted := search(suffix, ldap.ScopeWholeSubtree, "(mail=*)", "sn")
	key := &ldap.SortKey{AttributeType: "sn", MatchingRule: "caseIgnoreOrderingMatch", Reverse: true}
	sorted.Controls = append(sorted.Controls, ldap.NewControlServerSideSortingWithSortKeys([]*ldap.SortKey{key}))
	found, err = connection.Search(sorted)
	must(err)
	fmt.Println("sorted", values(found, "sn"))

	made := "cn=new \\2C one,ou=People," + suffix
	add := ldap.NewAddRequest(made, nil)
	add.Attribute("objectClass", []string{"inetOrgPerson"})
	add.Attribute("cn", []string{"new , one"})
	add.Attribute("sn", []string{"One"})
	add.Attribute("title", []string{"a", "b"})
	add.Attribute("jpegPhoto", []string{"\x00\xff\x80"})
	must(connection.Add(add))
	wrong := ldap.NewModifyRequest(made, nil)
	wrong.Add("uidNumber", []string{"1"})
	fmt.Println("refused", code(connection.Add(add))+",", code(connection.Modify(wrong)))
	change := ldap.NewModifyRequest(made, nil)
	change.Delete("title", []string{"a"})
	change.Replace("mail", []string{"new@example.com"})
	must(connection.Modify(change))
	same, err := connection.Compare(made, "title", "B")
	must(err)
	fmt.Println("compared", same)
	given, err := connection.PasswordModify(ldap.NewPasswordModifyRequest(made, "", ""))
	must(err)
	own := dial(address)
	fmt.Println("own password", code(own.Bind(made, given.GeneratedPassword)))
	own.Close()
	must(connection.ModifyDN(ldap.NewModifyDNRequest(made, "cn=moved", true, "ou=Empty,"+suffix)))
	found, err = connection.Search(search("ou=Empty,"+suffix, ldap.ScopeSingleLevel, "(mail=NEW@example.com)"))
	must(err)
	moved := found.Entries[0]
	fmt.Printf("moved %s %s %s %x\n", moved.DN, values(found, "cn"), values(found, "title"), moved.GetRawAttributeValue("jpegPhoto"))
	fmt.Println("deleted", code(connection.Del(ldap.NewDelRequest("ou=Empty,"+suffix, nil)))+",",
		code(connection.Del(ldap.NewDelRequest("ou=Empty,"+suffix, []ldap.Control{ldap.NewControlSubtreeDelete()}))))
	_, err = connection.Search(search(moved.DN, ldap.ScopeBaseObject, "(objectClass=*)"))
	fmt.Println("left", code(err))
}
