import com.unboundid.ldap.sdk.BindResult;
import com.unboundid.ldap.sdk.Control;
import com.unboundid.ldap.sdk.LDAPBindException;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.SimpleBindRequest;
import com.unboundid.ldap.sdk.controls.PasswordExpiredControl;
import com.unboundid.ldap.sdk.controls.PasswordExpiringControl;
import com.unboundid.ldap.sdk.experimental.DraftBeheraLDAPPasswordPolicy10RequestControl;
import com.unboundid.ldap.sdk.experimental.DraftBeheraLDAPPasswordPolicy10ResponseControl;
import com.unboundid.ldap.sdk.experimental.DraftBeheraLDAPPasswordPolicy10WarningType;

/**
 * Binds and prints what the SDK understands of the controls of the answer. Each line of the input is a name and a password with a tab between
 * them; before the name stands "ask" or "unasked", by which the client asks what the policy says. usage: PasswordPolicy PORT
 */
class PasswordPolicy {
    public static void main(String[] arguments) throws Exception {
        for (String line : new String(System.in.readAllBytes()).split("\n")) {
            String[] parts = line.split("\t");
            Control[] asking = {new DraftBeheraLDAPPasswordPolicy10RequestControl()};
            Control[] controls = parts[0].equals("ask") ? asking : new Control[0];
            try (LDAPConnection connection = new LDAPConnection("127.0.0.1", Integer.parseInt(arguments[0]))) {
                System.out.println(said(bind(connection, new SimpleBindRequest(parts[1], parts[2], controls))));
            }
        }
    }

    static BindResult bind(LDAPConnection connection, SimpleBindRequest request) throws Exception {
        try {
            return connection.bind(request);
        } catch (LDAPBindException refused) {
            return refused.getBindResult();
        }
    }

    static String said(BindResult result) throws Exception {
        String text = "code " + result.getResultCode().intValue();
        DraftBeheraLDAPPasswordPolicy10ResponseControl policy = DraftBeheraLDAPPasswordPolicy10ResponseControl.get(result);
        if (policy != null) {
            text += " policy";
            text += policy.getErrorType() == null ? "" : " error " + policy.getErrorType().intValue();
            if (policy.getWarningType() != null) {
                boolean isGrace = policy.getWarningType() == DraftBeheraLDAPPasswordPolicy10WarningType.GRACE_LOGINS_REMAINING;
                text += (isGrace ? " grace " : " seconds ") + policy.getWarningValue();
            }
        }
        PasswordExpiringControl expiring = PasswordExpiringControl.get(result);
        text += expiring == null ? "" : " expiring " + expiring.getSecondsUntilExpiration();
        return text + (PasswordExpiredControl.get(result) == null ? "" : " expired");
    }
}
