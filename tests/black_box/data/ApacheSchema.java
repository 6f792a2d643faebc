import org.apache.directory.api.ldap.model.exception.LdapSchemaException;
import org.apache.directory.api.ldap.schema.manager.impl.DefaultSchemaManager;
import org.apache.directory.ldap.client.api.DefaultSchemaLoader;
import org.apache.directory.ldap.client.api.LdapNetworkConnection;

/**
 * Loads the schema that a server publishes into the LDAP API of Apache Directory, as strict as that can be. Prints faults, or how
 * many attribute types and object classes it has then. usage: ApacheSchema PORT DN PASSWORD
 */
class ApacheSchema {
    public static void main(String[] arguments) throws Exception {
        try (LdapNetworkConnection connection = new LdapNetworkConnection("127.0.0.1", Integer.parseInt(arguments[0]))) {
            connection.bind(arguments[1], arguments[2]);
            DefaultSchemaLoader loader = new DefaultSchemaLoader(connection);
            loader.setQuirksMode(false);
            DefaultSchemaManager schema = new DefaultSchemaManager(loader);
            schema.setStrict();
            boolean isLoaded = schema.loadAllEnabled();
            for (Throwable error : schema.getErrors()) {
                System.out.println(error);
                if (error instanceof LdapSchemaException of) {
                    System.out.println(of.getCode() + " " + of.getRelatedId() + " " + of.getSourceObject() + " " + of.getOtherObject());
                }
            }
            System.out.println((isLoaded ? "loaded " : "refused ") + schema.getAttributeTypeRegistry().size() + " " + schema.getObjectClassRegistry().size());
        }
        System.exit(0);
    }
}
