import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Hashtable;
import javax.naming.Context;
import javax.naming.NamingException;
import javax.naming.ldap.InitialLdapContext;
import javax.naming.ldap.StartTlsRequest;
import javax.naming.ldap.StartTlsResponse;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * JNDI: StartTLS and ldaps. Prints a line for each way and authority: what the client finds as who it has bound, or "refused" if it does
 * not trust the server. usage: Jndi PORT SECURE-PORT DN PASSWORD BASE AUTHORITY...
 */
class Jndi {
    static String dn, password, base;

    public static void main(String[] arguments) throws Exception {
        dn = arguments[2];
        password = arguments[3];
        base = arguments[4];
        for (int at = 5; at < arguments.length; at++) {
            // Both ways take the sockets of this context.
            SSLContext.setDefault(trusting(arguments[at]));
            System.out.println("StartTLS " + startTls("ldap://localhost:" + arguments[0]));
            System.out.println("ldaps " + secured("ldaps://localhost:" + arguments[1]));
        }
    }

    static SSLContext trusting(String authority) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (FileInputStream file = new FileInputStream(authority)) {
            Certificate certificate = CertificateFactory.getInstance("X.509").generateCertificate(file);
            store.setCertificateEntry("authority", certificate);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    static Hashtable<String, String> environment(String url) {
        Hashtable<String, String> environment = new Hashtable<>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
        environment.put(Context.PROVIDER_URL, url);
        environment.put("com.sun.jndi.ldap.read.timeout", "60000");
        return environment;
    }

    static String found(InitialLdapContext context) throws NamingException {
        return context.getAttributes(base, new String[] {"uid"}).get("uid").toString();
    }

    static String startTls(String url) throws Exception {
        InitialLdapContext context = new InitialLdapContext(environment(url), null);
        try {
            StartTlsResponse tls = (StartTlsResponse) context.extendedOperation(new StartTlsRequest());
            tls.negotiate(SSLContext.getDefault().getSocketFactory());
            context.addToEnvironment(Context.SECURITY_AUTHENTICATION, "simple");
            context.addToEnvironment(Context.SECURITY_PRINCIPAL, dn);
            context.addToEnvironment(Context.SECURITY_CREDENTIALS, password);
            return found(context);
        } catch (java.io.IOException error) {
            return "refused";
        } finally {
            context.close();
        }
    }

    static String secured(String url) throws NamingException {
        Hashtable<String, String> environment = environment(url);
        environment.put(Context.SECURITY_PRINCIPAL, dn);
        environment.put(Context.SECURITY_CREDENTIALS, password);
        try {
            InitialLdapContext context = new InitialLdapContext(environment, null);
            String found = found(context);
            context.close();
            return found;
        } catch (javax.naming.CommunicationException error) {
            return "refused";
        }
    }
}
