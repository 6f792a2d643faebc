import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.ldaptive.BindRequest;
import org.ldaptive.BindResponse;
import org.ldaptive.Connection;
import org.ldaptive.ConnectionConfig;
import org.ldaptive.DefaultConnectionFactory;
import org.ldaptive.LdapException;
import org.ldaptive.SimpleBindRequest;
import org.ldaptive.control.PasswordExpiredControl;
import org.ldaptive.control.PasswordExpiringControl;
import org.ldaptive.control.PasswordPolicyControl;
import org.ldaptive.control.ResponseControl;
import org.ldaptive.extended.WhoAmIRequest;
import org.ldaptive.sasl.Mechanism;
import org.ldaptive.sasl.ScramBindRequest;
import org.ldaptive.ssl.SslConfig;
import org.ldaptive.ssl.X509CredentialConfig;

/**
 * What ldaptive does with the server.
 *
 * Ldaptive tls PORT SECURE-PORT DN PASSWORD AUTHORITY...
 * StartTLS and ldaps. Prints a line for each way and authority: who the client is then, or "refused" if it does not trust the server.
 *
 * Ldaptive policy PORT
 * Binds and prints what is understood of the controls of the answer. Each line of the input is "ask" or "unasked" (whether the client asks what the
 * policy says), a name and a password, with tabs between them.
 *
 * Ldaptive scram PORT AUTHORITY
 * Binds by SCRAM-SHA-256, in the clear and under TLS, and prints the code and who the client is then. Each line of the input is a name and a
 * password, with a tab between them.
 */
class Ldaptive {
    public static void main(String[] arguments) throws Exception {
        String port = arguments[1];
        switch (arguments[0]) {
            case "tls" -> {
                for (String authority : List.of(arguments).subList(5, arguments.length)) {
                    SimpleBindRequest bind = new SimpleBindRequest(arguments[3], arguments[4]);
                    System.out.println("StartTLS " + secured(config("ldap", port, authority).useStartTLS(true), bind));
                    System.out.println("ldaps " + secured(config("ldaps", arguments[2], authority), bind));
                }
            }
            case "policy" -> {
                for (String[] line : lines()) {
                    SimpleBindRequest.Builder bind = SimpleBindRequest.builder().dn(line[1]).password(line[2]);
                    if (line[0].equals("ask")) {
                        bind.controls(new PasswordPolicyControl());
                    }
                    try (Connection connection = opened(config("ldap", port, null))) {
                        System.out.println(said(connection.operation((BindRequest) bind.build()).execute()));
                    }
                }
            }
            case "scram" -> {
                for (String[] line : lines()) {
                    for (boolean startTls : List.of(false, true)) {
                        ScramBindRequest bind = new ScramBindRequest(Mechanism.SCRAM_SHA_256, line[0], line[1]);
                        try (Connection connection = opened(config("ldap", port, arguments[2]).useStartTLS(startTls))) {
                            int code = connection.operation(bind).getResultCode().value();
                            System.out.println("code " + code + " " + who(connection));
                        }
                    }
                }
            }
        }
    }

    static List<String[]> lines() throws Exception {
        String input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        return input.lines().map(line -> line.split("\t")).toList();
    }

    static ConnectionConfig.Builder config(String scheme, String port, String authority) {
        ConnectionConfig.Builder config = ConnectionConfig.builder().url(scheme + "://localhost:" + port);
        config.connectTimeout(Duration.ofSeconds(60)).responseTimeout(Duration.ofSeconds(60));
        if (authority != null) {
            X509CredentialConfig trusted = new X509CredentialConfig();
            trusted.setTrustCertificates("file:" + authority);
            config.sslConfig(new SslConfig(trusted));
        }
        return config;
    }

    static Connection opened(ConnectionConfig.Builder config) throws LdapException {
        Connection connection = new DefaultConnectionFactory(config.build()).getConnection();
        connection.open();
        return connection;
    }

    static String secured(ConnectionConfig.Builder config, SimpleBindRequest bind) throws LdapException {
        Connection connection;
        try {
            connection = opened(config);
        } catch (LdapException error) {
            return "refused";
        }
        connection.operation((BindRequest) bind).execute();
        String who = who(connection);
        connection.close();
        return who;
    }

    static String who(Connection connection) throws LdapException {
        byte[] value = connection.operation(new WhoAmIRequest()).execute().getResponseValue();
        return value == null ? "" : new String(value, StandardCharsets.UTF_8);
    }

    static String said(BindResponse answer) {
        String text = "code " + answer.getResultCode().value();
        for (ResponseControl control : answer.getControls()) {
            if (control instanceof PasswordPolicyControl policy) {
                text += " policy" + (policy.hasError() ? " error " + policy.getError().getCode() : "");
                if (policy.getWarning() != null) {
                    boolean isGrace = policy.hasWarning(PasswordPolicyControl.WarningType.GRACE_AUTHNS_REMAINING);
                    text += (isGrace ? " grace " : " seconds ") + policy.getWarning().getValue();
                }
            } else if (control instanceof PasswordExpiringControl expiring) {
                text += " expiring " + expiring.getTimeBeforeExpiration();
            } else if (control instanceof PasswordExpiredControl) {
                text += " expired";
            }
        }
        return text;
    }
}
