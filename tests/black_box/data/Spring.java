import static org.springframework.ldap.query.LdapQueryBuilder.query;

import java.util.List;
import java.util.TreeSet;
import javax.naming.Name;
import javax.naming.directory.SearchControls;
import org.springframework.dao.EmptyResultDataAccessException;
import org.springframework.ldap.AuthenticationException;
import org.springframework.ldap.NameAlreadyBoundException;
import org.springframework.ldap.core.AttributesMapper;
import org.springframework.ldap.core.DirContextAdapter;
import org.springframework.ldap.core.DirContextOperations;
import org.springframework.ldap.core.LdapOperations;
import org.springframework.ldap.core.LdapTemplate;
import org.springframework.ldap.core.support.LdapContextSource;
import org.springframework.ldap.core.support.SingleContextSource;
import org.springframework.ldap.control.PagedResultsDirContextProcessor;
import org.springframework.ldap.odm.annotations.Attribute;
import org.springframework.ldap.odm.annotations.Entry;
import org.springframework.ldap.odm.annotations.Id;
import org.springframework.ldap.support.LdapNameBuilder;

/**
 * Spring LDAP: log-ins, searches, pages, objects that are mapped, and updates. Prints a line for each.
 * usage: Spring PORT DN PASSWORD SUFFIX USER PASSWORD WRONG-PASSWORD HIDDEN-USER
 */
class Spring {
    @Entry(objectClasses = "inetOrgPerson")
    public static final class Person {
        @Id Name dn;
        @Attribute(name = "uid") String uid;
        @Attribute(name = "cn") List<String> names;
        @Attribute(name = "sn") String surname;
        @Attribute(name = "mail") String mail;
    }

    static LdapTemplate template;

    static String logIn(String uid, String password) {
        try {
            template.authenticate(query().base("ou=People").where("uid").is(uid), password);
            return "accepted";
        } catch (AuthenticationException refused) {
            return "refused";
        } catch (EmptyResultDataAccessException absent) {
            return "absent";
        }
    }

    static int pages(LdapContextSource source) {
        int pages = 0;
        SearchControls controls = new SearchControls();
        controls.setSearchScope(SearchControls.SUBTREE_SCOPE);
        // A cookie is good on its connection only.
        SingleContextSource single = new SingleContextSource(source.getReadOnlyContext());
        try {
            LdapOperations operations = new LdapTemplate(single);
            PagedResultsDirContextProcessor processor = new PagedResultsDirContextProcessor(2);
            do {
                List<String> page = operations.search("", "(objectClass=*)", controls, (AttributesMapper<String>) found -> "", processor);
                if (page.size() > 2) {
                    throw new IllegalStateException("a page of " + page.size());
                }
                pages++;
            } while (processor.hasMore());
            return pages;
        } finally {
            single.destroy();
        }
    }

    public static void main(String[] given) throws Exception {
        LdapContextSource source = new LdapContextSource();
        source.setUrl("ldap://127.0.0.1:" + given[0]);
        source.setUserDn(given[1]);
        source.setPassword(given[2]);
        source.setBase(given[3]);
        source.afterPropertiesSet();
        template = new LdapTemplate(source);
        String user = given[4];
        System.out.println("log-in " + logIn(user, given[5]) + " " + logIn(user, given[6]) + " " + logIn(given[7], given[6]));
        System.out.println("found " + new TreeSet<>(template.search(query().base("ou=People").where("mail").like("*@example.com"),
            (AttributesMapper<String>) found -> (String) found.get("sn").get())));
        System.out.println("pages " + pages(source));

        Person person = new Person();
        person.dn = LdapNameBuilder.newInstance("ou=People").add("uid", "new, one").build();
        person.uid = "new, one";
        person.names = List.of("New One", "Ñew");
        person.surname = "One";
        template.create(person);
        try {
            template.create(person);
        } catch (NameAlreadyBoundException refused) {
            System.out.println("refused " + refused.getMessage());
        }
        Person found = template.findOne(query().where("uid").is("new, one"), Person.class);
        found.mail = "new@example.com";
        template.update(found);
        DirContextOperations entry = template.lookupContext(found.dn);
        System.out.println("made " + entry.getStringAttribute("mail") + " " + new TreeSet<>(found.names));
        entry.setAttributeValues("telephoneNumber", new String[] {"1", "2"});
        entry.removeAttributeValue("cn", "Ñew");
        template.modifyAttributes(entry);
        Name moved = LdapNameBuilder.newInstance("ou=Empty").add("uid", "moved").build();
        template.rename(found.dn, moved);
        DirContextAdapter read = (DirContextAdapter) template.lookup(moved);
        System.out.println("moved " + read.getNameInNamespace() + " " + read.getStringAttributes("telephoneNumber").length + " "
            + read.getStringAttributes("cn").length);
        template.unbind(moved);
        System.out.println("left " + template.search(query().where("uid").is("moved"), (AttributesMapper<String>) each -> "").size());
    }
}
