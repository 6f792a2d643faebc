import com.unboundid.asn1.ASN1OctetString;
import com.unboundid.ldap.sdk.ExtendedResult;
import com.unboundid.ldap.sdk.Filter;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.controls.AssertionRequestControl;
import com.unboundid.ldap.sdk.controls.TransactionSpecificationRequestControl;
import com.unboundid.ldap.sdk.extensions.EndTransactionExtendedRequest;
import com.unboundid.ldap.sdk.extensions.EndTransactionExtendedResult;
import com.unboundid.ldap.sdk.extensions.StartTransactionExtendedRequest;
import com.unboundid.ldap.sdk.extensions.StartTransactionExtendedResult;

/**
 * Hands a title from one person to another, both changes or none. Needs the UnboundID LDAP SDK.
 *
 * usage: Transfer HOST PORT BIND-DN PASSWORD FROM-DN TO-DN TITLE
 */
public final class Transfer {
    public static void main(String[] args) throws LDAPException {
        int port = Integer.parseInt(args[1]);
        try (LDAPConnection connection = new LDAPConnection(args[0], port, args[2], args[3])) {
            transfer(connection, args[4], args[5], args[6]);
            System.out.println("both were changed");
        } catch (LDAPException e) {
            System.err.println("nothing was changed: " + e.getResultCode().getName());
            System.exit(1);
        }
    }

    private static void transfer(LDAPConnection connection, String source, String target, String title)
            throws LDAPException {
        ExtendedResult begun = connection.processExtendedOperation(new StartTransactionExtendedRequest());
        if (begun.getResultCode() != ResultCode.SUCCESS) {
            throw new LDAPException(begun);
        }
        ASN1OctetString identifier = ((StartTransactionExtendedResult) begun).getTransactionID();
        ModifyRequest give = new ModifyRequest(source, new Modification(ModificationType.DELETE, "title", title));
        give.addControl(new TransactionSpecificationRequestControl(identifier));
        give.addControl(new AssertionRequestControl(Filter.createEqualityFilter("title", title)));
        ModifyRequest take = new ModifyRequest(target, new Modification(ModificationType.REPLACE, "title", title));
        take.addControl(new TransactionSpecificationRequestControl(identifier));
        try {
            connection.modify(give);
            connection.modify(take);
        } catch (LDAPException e) {
            // One update was refused, so none of them can be committed.
            connection.processExtendedOperation(new EndTransactionExtendedRequest(identifier, false));
            throw e;
        }
        // This may fail too: what is there now decides. Then nothing was changed.
        EndTransactionExtendedResult ended = (EndTransactionExtendedResult)
                connection.processExtendedOperation(new EndTransactionExtendedRequest(identifier, true));
        if (ended.getResultCode() != ResultCode.SUCCESS) {
            System.err.println("update " + ended.getFailedOpMessageID() + " stood against it");
            throw new LDAPException(ended);
        }
    }
}
