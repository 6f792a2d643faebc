import com.unboundid.asn1.ASN1OctetString;
import com.unboundid.ldap.sdk.Control;
import com.unboundid.ldap.sdk.ExtendedResult;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPConnectionOptions;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.LDAPResult;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.controls.PostReadRequestControl;
import com.unboundid.ldap.sdk.controls.PostReadResponseControl;
import com.unboundid.ldap.sdk.controls.PreReadRequestControl;
import com.unboundid.ldap.sdk.controls.PreReadResponseControl;
import com.unboundid.ldap.sdk.controls.ProxiedAuthorizationV2RequestControl;
import com.unboundid.ldap.sdk.controls.TransactionSpecificationRequestControl;
import com.unboundid.ldap.sdk.extensions.AbortedTransactionExtendedResult;
import com.unboundid.ldap.sdk.extensions.EndTransactionExtendedRequest;
import com.unboundid.ldap.sdk.extensions.EndTransactionExtendedResult;
import com.unboundid.ldap.sdk.extensions.StartTransactionExtendedRequest;
import com.unboundid.ldap.sdk.extensions.StartTransactionExtendedResult;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** One case of a transaction with the UnboundID LDAP SDK: CASE PORT BIND-DN PASSWORD DN. Prints what it sees, a fact a line. */
public final class Transactions {
    private final LDAPConnection connection;
    private final String dn;
    private final BlockingQueue<ExtendedResult> notices = new LinkedBlockingQueue<>();

    private Transactions(String[] args) throws LDAPException {
        LDAPConnectionOptions options = new LDAPConnectionOptions();
        options.setUnsolicitedNotificationHandler((from, notice) -> notices.add(notice));
        connection = new LDAPConnection(options, "127.0.0.1", Integer.parseInt(args[1]), args[2], args[3]);
        dn = args[4];
    }

    public static void main(String[] args) throws Exception {
        Transactions here = new Transactions(args);
        switch (args[0]) {
            case "commit" -> here.end(here.twoUpdates(), true);
            case "abort" -> here.end(here.twoUpdates(), false);
            case "leave" -> here.twoUpdates();
            case "refused" -> here.refused();
            case "late" -> here.late(args);
            case "reads" -> here.reads();
            case "proxied" -> here.proxied();
            case "unknown" -> here.end(new ASN1OctetString("no such"), true);
            case "age" -> here.age();
            default -> throw new IllegalArgumentException(args[0]);
        }
        here.connection.close();
    }

    private ASN1OctetString start(Control... controls) throws LDAPException {
        ExtendedResult begun = connection.processExtendedOperation(new StartTransactionExtendedRequest(controls));
        System.out.println("start " + begun.getResultCode().intValue() + " " + begun.getOID());
        return ((StartTransactionExtendedResult) begun).getTransactionID();
    }

    private EndTransactionExtendedResult end(ASN1OctetString identifier, boolean commit) throws LDAPException {
        EndTransactionExtendedResult ended = (EndTransactionExtendedResult)
                connection.processExtendedOperation(new EndTransactionExtendedRequest(identifier, commit));
        System.out.println("end " + ended.getResultCode().intValue() + " " + ended.getOID());
        return ended;
    }

    private static ModifyRequest replace(String dn, String attribute, String value, Control... controls) {
        return new ModifyRequest(dn, new Modification[] {new Modification(ModificationType.REPLACE, attribute, value)}, controls);
    }

    /** The answer to an update, whatever it is. */
    private LDAPResult update(ModifyRequest request) {
        LDAPResult result;
        try {
            result = connection.modify(request);
        } catch (LDAPException e) {
            result = e.toLDAPResult();
        }
        System.out.println("update " + result.getResultCode().intValue());
        return result;
    }

    private ASN1OctetString twoUpdates() throws LDAPException {
        ASN1OctetString identifier = start();
        Control inside = new TransactionSpecificationRequestControl(identifier);
        update(replace(dn, "title", "Pilot", inside));
        update(replace(dn, "sn", "Lovelace", inside));
        return identifier;
    }

    private void refused() throws LDAPException {
        ASN1OctetString identifier = start();
        Control inside = new TransactionSpecificationRequestControl(identifier);
        update(replace(dn, "title", "Pilot", inside));
        ModifyRequest refused = replace("uid=nobody," + dn, "title", "Pilot", inside);
        update(refused);
        update(replace(dn, "sn", "Lovelace", inside));
        EndTransactionExtendedResult ended = end(identifier, true);
        System.out.println("culprit " + (ended.getFailedOpMessageID() == refused.getLastMessageID()));
        System.out.println("matched " + ended.getMatchedDN());
    }

    private void late(String[] args) throws LDAPException {
        ASN1OctetString identifier = start();
        Control inside = new TransactionSpecificationRequestControl(identifier);
        update(replace(dn, "title", "Pilot", inside));
        Modification gone = new Modification(ModificationType.DELETE, "givenName", "Ada");
        LDAPResult second = update(new ModifyRequest(dn, new Modification[] {gone}, new Control[] {inside}));
        new Transactions(args).update(replace(dn, "givenName", "Augusta"));
        EndTransactionExtendedResult ended = end(identifier, true);
        System.out.println("culprit " + (ended.getFailedOpMessageID() == second.getMessageID()));
    }

    private void reads() throws LDAPException {
        ASN1OctetString identifier = start();
        Control[] controls = {
            new TransactionSpecificationRequestControl(identifier),
            new PreReadRequestControl(true, "title"),
            new PostReadRequestControl(true, "title"),
        };
        LDAPResult first = update(replace(dn, "title", "Pilot", controls));
        LDAPResult plain = update(replace(dn, "sn", "Lovelace", controls[0]));
        LDAPResult second = update(replace(dn, "title", "Captain", controls));
        System.out.println("early " + first.getResponseControls().length);
        EndTransactionExtendedResult ended = end(identifier, true);
        System.out.println("failed " + ended.getFailedOpMessageID() + " updates " + ended.getOperationResponseControls().size());
        System.out.println("plain " + ended.getOperationResponseControls(plain.getMessageID()));
        for (LDAPResult update : new LDAPResult[] {first, second}) {
            for (Control control : ended.getOperationResponseControls(update.getMessageID())) {
                if (control instanceof PreReadResponseControl pre) {
                    System.out.println("before " + pre.getEntry().getAttributeValue("title"));
                } else if (control instanceof PostReadResponseControl post) {
                    System.out.println("after " + post.getEntry().getAttributeValue("title"));
                }
            }
        }
    }

    private void proxied() throws LDAPException {
        Control proxied = new ProxiedAuthorizationV2RequestControl("dn:" + dn);
        ASN1OctetString identifier = start(proxied);
        Control inside = new TransactionSpecificationRequestControl(identifier);
        update(replace(dn, "title", "Pilot", inside));
        end(identifier, true);
        identifier = start();
        update(replace(dn, "title", "Pilot", new TransactionSpecificationRequestControl(identifier), proxied));
        end(identifier, false);
    }

    /** The server's limit is short: an update is accepted, the notice comes, and the next update is refused. */
    private void age() throws Exception {
        ASN1OctetString identifier = start();
        ModifyRequest request = replace(dn, "title", "Pilot", new TransactionSpecificationRequestControl(identifier));
        update(request);
        AbortedTransactionExtendedResult notice =
                new AbortedTransactionExtendedResult(notices.poll(30, TimeUnit.SECONDS));
        System.out.println("notice " + notice.getResultCode().intValue() + " "
                + notice.getTransactionID().equals(identifier));
        update(request);
        end(identifier, true);
    }
}
