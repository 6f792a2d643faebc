import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResultEntry;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.unboundidds.controls.AttributeRight;
import com.unboundid.ldap.sdk.unboundidds.controls.EffectiveRightsEntry;
import com.unboundid.ldap.sdk.unboundidds.controls.EntryRight;
import com.unboundid.ldap.sdk.unboundidds.controls.GetEffectiveRightsRequestControl;

/**
 * Asks for somebody's rights on an entry and prints what the SDK understands of the answer: the rights on the entry, then those on each
 * attribute. usage: EffectiveRights PORT DN PASSWORD SUBJECT ENTRY ATTRIBUTE...
 */
class EffectiveRights {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        try (LDAPConnection connection = new LDAPConnection("127.0.0.1", port, arguments[1], arguments[2])) {
            SearchRequest request = new SearchRequest(arguments[4], SearchScope.BASE, "(objectClass=*)", "1.1", "aclRights");
            String[] attributes = java.util.Arrays.copyOfRange(arguments, 5, arguments.length);
            request.addControl(new GetEffectiveRightsRequestControl("dn:" + arguments[3], attributes));
            for (SearchResultEntry found : connection.search(request).getSearchEntries()) {
                EffectiveRightsEntry entry = new EffectiveRightsEntry(found);
                System.out.print(entry.rightsInformationAvailable() ? "entry" : "none");
                for (EntryRight right : EntryRight.values()) {
                    System.out.print(entry.hasEntryRight(right) ? " " + right.getName() : "");
                }
                for (String attribute : attributes) {
                    System.out.print("\n" + attribute);
                    for (AttributeRight right : AttributeRight.values()) {
                        System.out.print(entry.hasAttributeRight(right, attribute) ? " " + right.getName() : "");
                    }
                }
                System.out.println();
            }
        }
    }
}
