import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.naming.AuthenticationException;
import org.keycloak.common.util.MultivaluedHashMap;
import org.keycloak.component.ComponentModel;
import org.keycloak.models.KeycloakSession;
import org.keycloak.models.LDAPConstants;
import org.keycloak.representations.idm.LDAPCapabilityRepresentation;
import org.keycloak.storage.ldap.LDAPConfig;
import org.keycloak.storage.ldap.LDAPStorageProvider;
import org.keycloak.storage.ldap.LDAPUtils;
import org.keycloak.storage.ldap.idm.model.LDAPDn;
import org.keycloak.storage.ldap.idm.model.LDAPObject;
import org.keycloak.storage.ldap.idm.query.Condition;
import org.keycloak.storage.ldap.idm.query.internal.LDAPQuery;
import org.keycloak.storage.ldap.idm.query.internal.LDAPQueryConditionsBuilder;
import org.keycloak.storage.ldap.idm.store.ldap.LDAPIdentityStore;

/**
 * Keycloak's user federation: its own LDAP code, which is driven as the server does for "query capabilities", a synchronisation of all and of changed users, a
 * user who logs in, one who is registered and one who is removed, and groups. Prints a line for each.
 * usage: Keycloak PORT DN PASSWORD USERS GROUPS USER PASSWORD WRONG-PASSWORD
 */
class Keycloak {
    static final LDAPQueryConditionsBuilder IS = new LDAPQueryConditionsBuilder();
    static LDAPIdentityStore store;
    static LDAPStorageProvider provider;

    /** Stands for a part of Keycloak that has nothing to say: no vault, no trace. */
    @SuppressWarnings("unchecked")
    static <T> T silent(Class<T> kind) {
        return (T) Proxy.newProxyInstance(Keycloak.class.getClassLoader(), new Class<?>[] {kind}, (self, method, arguments) -> {
            Class<?> wanted = method.getReturnType();
            if (method.getName().equals("getProvider")) {
                return silent((Class<?>) arguments[0]);
            } else if (wanted == Optional.class) {
                return Optional.empty();
            } else if (wanted == boolean.class) {
                return false;
            } else if (wanted == int.class) {
                return 0;
            }
            return wanted.isInterface() && !wanted.getName().startsWith("java.") ? silent(wanted) : null;
        });
    }

    static LDAPQuery query(String base, Condition... conditions) {
        LDAPQuery query = new LDAPQuery(provider).setSearchDn(base).addWhereCondition(conditions);
        for (String name : List.of("uid", "cn", "sn", "mail", "createTimestamp", "modifyTimestamp", "objectclass", "member")) {
            query.addReturningLdapAttribute(name);
        }
        return query;
    }

    static Set<String> names(List<LDAPObject> found, String attribute) {
        return found.stream().map(each -> each.getAttributeAsString(attribute)).collect(Collectors.toCollection(TreeSet::new));
    }

    static String logIn(LDAPObject user, String password) {
        try {
            store.validatePassword(user, password);
            return "accepted";
        } catch (AuthenticationException refused) {
            return "refused";
        }
    }

    public static void main(String[] given) throws Exception {
        String users = given[3], groups = given[4];
        MultivaluedHashMap<String, String> config = new MultivaluedHashMap<>();
        config.putSingle(LDAPConstants.VENDOR, LDAPConstants.VENDOR_OTHER);
        config.putSingle(LDAPConstants.CONNECTION_URL, "ldap://127.0.0.1:" + given[0]);
        config.putSingle(LDAPConstants.AUTH_TYPE, LDAPConstants.AUTH_TYPE_SIMPLE);
        config.putSingle(LDAPConstants.BIND_DN, given[1]);
        config.putSingle(LDAPConstants.BIND_CREDENTIAL, given[2]);
        config.putSingle(LDAPConstants.USERS_DN, users);
        config.putSingle(LDAPConstants.USERNAME_LDAP_ATTRIBUTE, "uid");
        config.putSingle(LDAPConstants.RDN_LDAP_ATTRIBUTE, "uid");
        config.putSingle(LDAPConstants.UUID_LDAP_ATTRIBUTE, "entryUUID");
        config.putSingle(LDAPConstants.USER_OBJECT_CLASSES, "inetOrgPerson");
        config.putSingle(LDAPConstants.EDIT_MODE, "WRITABLE");
        config.putSingle(LDAPConstants.PAGINATION, "true");
        config.putSingle(LDAPConstants.BATCH_SIZE_FOR_SYNC, "2");
        config.putSingle(LDAPConstants.USE_PASSWORD_MODIFY_EXTENDED_OP, "true");
        config.putSingle(LDAPConstants.CONNECTION_TIMEOUT, "60000");
        config.putSingle(LDAPConstants.READ_TIMEOUT, "60000");
        KeycloakSession session = silent(KeycloakSession.class);
        store = new LDAPIdentityStore(session, new LDAPConfig(config));
        ComponentModel model = new ComponentModel();
        model.setConfig(config);
        provider = new LDAPStorageProvider(null, session, model, store);

        Set<String> oids = store.queryServerCapabilities().stream().map(LDAPCapabilityRepresentation::getOid)
            .map(Object::toString).collect(Collectors.toSet());
        System.out.println("capabilities " + oids.containsAll(List.of("1.3.6.1.4.1.4203.1.11.1", "1.2.840.113556.1.4.319")));

        List<LDAPObject> all;
        try (LDAPQuery query = query(users, IS.present("uid"))) {
            all = LDAPUtils.loadAllLDAPObjects(query.addObjectClasses(List.of("inetOrgPerson")), store.getConfig());
        }
        System.out.println("users " + names(all, "uid"));
        LDAPObject user = query(users, IS.equal("uid", given[5])).getFirstResult();
        System.out.println("by entryUUID " + query(users, IS.equal("entryUUID", user.getUuid())).getFirstResult().getAttributeAsString("uid"));
        String since = user.getAttributeAsString("modifyTimestamp");
        System.out.println("changed " + query(users, IS.orCondition(IS.greaterThanOrEqualTo("createTimestamp", since),
            IS.greaterThanOrEqualTo("modifyTimestamp", since)), IS.equal("uid", given[5])).getResultList().size());
        System.out.println("log-in " + logIn(user, given[6]) + " " + logIn(user, given[7]));
        System.out.println("groups " + names(query(groups, IS.equal("member", user.getDn().toString())).getResultList(), "cn"));

        LDAPObject made = new LDAPObject();
        made.setObjectClasses(List.of("inetOrgPerson"));
        made.setRdnAttributeName("uid");
        made.setSingleAttribute("uid", "registered");
        made.setSingleAttribute("cn", "Registered");
        made.setSingleAttribute("sn", "User");
        LDAPDn dn = LDAPDn.fromString(users);
        dn.addFirst("uid", "registered");
        made.setDn(dn);
        store.add(made);
        store.updatePassword(made, "a word of its own", null);
        System.out.println("registered " + (made.getUuid().length() == 36) + " " + logIn(made, "a word of its own") + " " + logIn(made, given[6]));
        made.setSingleAttribute("uid", "renamed");
        made.setSingleAttribute("mail", "renamed@example.com");
        store.update(made);
        System.out.println("updated " + query(users, IS.equal("entryUUID", made.getUuid())).getFirstResult().getAttributeAsString("mail") + " " + made.getDn());
        LDAPObject group = query(groups, IS.equal("member", user.getDn().toString())).getFirstResult();
        store.addMemberToGroup(group.getDn().getLdapName(), "member", made.getDn().toString());
        System.out.println("member " + query(groups, IS.equal("member", made.getDn().toString())).getResultList().size());
        store.removeMemberFromGroup(group.getDn().getLdapName(), "member", made.getDn().toString());
        store.remove(made);
        System.out.println("removed " + query(users, IS.equal("uid", "renamed")).getResultList().size());
    }
}
