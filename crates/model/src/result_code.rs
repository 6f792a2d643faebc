//! LDAP result codes (RFC 4511 section 4.1.9 and appendix A; 76 ietf-ldapext-ldapv3-vlv-09; 118-121 RFC 3909; 122 RFC 4528; 123 RFC 4370; 4096 RFC 4533).

use std::fmt;

macro_rules! result_codes {
    ($($name:ident = $number:literal $text:literal,)*) => {
        /// The outcome of an operation, as the client sees it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum ResultCode {
            $(#[doc = $text] $name = $number,)*
        }

        impl ResultCode {
            /// The name that the RFC gives it, for messages and reports.
            pub fn name(self) -> &'static str {
                match self { $(ResultCode::$name => $text,)* }
            }

            /// The code with this number on the wire.
            pub fn from_number(number: u32) -> Option<ResultCode> {
                match number { $($number => Some(ResultCode::$name),)* _ => None }
            }
        }
    };
}

result_codes! {
    Success = 0 "success",
    OperationsError = 1 "operationsError",
    ProtocolError = 2 "protocolError",
    TimeLimitExceeded = 3 "timeLimitExceeded",
    SizeLimitExceeded = 4 "sizeLimitExceeded",
    CompareFalse = 5 "compareFalse",
    CompareTrue = 6 "compareTrue",
    AuthMethodNotSupported = 7 "authMethodNotSupported",
    StrongerAuthRequired = 8 "strongerAuthRequired",
    Referral = 10 "referral",
    AdminLimitExceeded = 11 "adminLimitExceeded",
    UnavailableCriticalExtension = 12 "unavailableCriticalExtension",
    ConfidentialityRequired = 13 "confidentialityRequired",
    SaslBindInProgress = 14 "saslBindInProgress",
    NoSuchAttribute = 16 "noSuchAttribute",
    UndefinedAttributeType = 17 "undefinedAttributeType",
    InappropriateMatching = 18 "inappropriateMatching",
    ConstraintViolation = 19 "constraintViolation",
    AttributeOrValueExists = 20 "attributeOrValueExists",
    InvalidAttributeSyntax = 21 "invalidAttributeSyntax",
    NoSuchObject = 32 "noSuchObject",
    AliasProblem = 33 "aliasProblem",
    InvalidDnSyntax = 34 "invalidDNSyntax",
    AliasDereferencingProblem = 36 "aliasDereferencingProblem",
    InappropriateAuthentication = 48 "inappropriateAuthentication",
    InvalidCredentials = 49 "invalidCredentials",
    InsufficientAccessRights = 50 "insufficientAccessRights",
    Busy = 51 "busy",
    Unavailable = 52 "unavailable",
    UnwillingToPerform = 53 "unwillingToPerform",
    LoopDetect = 54 "loopDetect",
    NamingViolation = 64 "namingViolation",
    ObjectClassViolation = 65 "objectClassViolation",
    NotAllowedOnNonLeaf = 66 "notAllowedOnNonLeaf",
    NotAllowedOnRdn = 67 "notAllowedOnRDN",
    EntryAlreadyExists = 68 "entryAlreadyExists",
    ObjectClassModsProhibited = 69 "objectClassModsProhibited",
    AffectsMultipleDsas = 71 "affectsMultipleDSAs",
    VirtualListViewError = 76 "virtualListViewError",
    Other = 80 "other",
    Canceled = 118 "canceled",
    NoSuchOperation = 119 "noSuchOperation",
    TooLate = 120 "tooLate",
    CannotCancel = 121 "cannotCancel",
    AssertionFailed = 122 "assertionFailed",
    AuthorizationDenied = 123 "authorizationDenied",
    SyncRefreshRequired = 4096 "e-syncRefreshRequired",
}

impl fmt::Display for ResultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
