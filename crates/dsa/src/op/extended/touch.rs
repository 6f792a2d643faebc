//! An operation for tests: it gives the entry whose DN is its value a description. It is no member of transactions. That it is
//! done, refused and found shows that nothing but the list has to know of a new operation.

use crate::context::Reading;
use crate::extension::{Change, Extension, Role, Writes, result_of};
use crate::identity::Identity;
use crate::outcome::FixedRefusal;
use model::ResultCode;
use proto::Request;
use proto::control::proxied_authorization;
use proto::op::extended::ExtendedResponse;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};

const OID: &[u8] = b"1.3.6.1.4.1.99999.1";

pub(super) const EXTENSION: Extension = Extension {
    oid: OID,
    controls: &[proxied_authorization::OID],
    role: Role::Writes(Writes { target: |_, _, value| Ok(value.map(<[u8]>::to_vec)), prepare, refuse: None }),
};

/// Compiled for tests alone.
fn prepare(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    value: Option<&[u8]>,
    _: Option<&[u8]>,
) -> Result<Change, FixedRefusal> {
    if !reading.scratch.views.writes_all(identity.requester().class) {
        return Err((ResultCode::InsufficientAccessRights, "touched by others"));
    }
    // As password modify does: what is logged is a modify.
    let changes = change_list([(ModifyKind::Replace, &b"description"[..], Some(&b"touched"[..]))]);
    let changes = Changes::parse(&changes).expect("just encoded");
    let mut message = Vec::new();
    Request::Modify(Modify { dn: value.unwrap_or_default(), changes }).encode(&mut message, id, &[]);
    // The answer to the modify becomes the answer to the operation.
    let answer = Box::new(|id, modified: &[u8], out: &mut Vec<u8>| {
        ExtendedResponse { result: result_of(modified), oid: None, value: None }.encode(out, id, &[]);
    });
    Ok(Change { id, message, actor: identity.clone(), answer, is_of_bind: false, conditions: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Session;
    use crate::system::tests::Fixture;
    use proto::control::{Control, transaction_specification};
    use proto::ext::start_transaction;
    use proto::op::Extended;

    const ANN: &[u8] = b"uid=ann,dc=com";

    fn ask(fixture: &mut Fixture, session: &mut Session, oid: &[u8], controls: &[Control<'_>]) -> ResultCode {
        let value = Some(ANN).filter(|_| oid == OID);
        let mut input = Vec::new();
        Request::Extended(Extended { oid, value }).encode(&mut input, 7, controls);
        session.feed(&mut fixture.worker, &input, &mut fixture.out);
        fixture.answer().code
    }

    #[test]
    fn an_operation_of_the_list_writes() {
        let mut fixture = Fixture::new();
        let mut session = Session::new(&mut fixture.worker);
        assert_eq!(ask(&mut fixture, &mut session, OID, &[]), ResultCode::InsufficientAccessRights);
        session.identity = fixture.identity.clone();
        assert_eq!(
            fixture.compare("uid=ann,dc=com", "description", "touched").code,
            ResultCode::NoSuchAttribute
        );
        assert_eq!(ask(&mut fixture, &mut session, OID, &[]), ResultCode::Success);
        assert_eq!(fixture.compare("uid=ann,dc=com", "description", "touched").code, ResultCode::CompareTrue);
    }

    #[test]
    fn one_that_knows_no_transactions_belongs_to_none() {
        let mut fixture = Fixture::new();
        let choices = crate::transaction::Choices { implicit_membership: true, ..Default::default() };
        fixture.dsa.transactions.put(&choices, fixture.dsa.shard.schema()).expect("they fit");
        let mut session = Session::new(&mut fixture.worker);
        session.identity = fixture.identity.clone();
        assert_eq!(ask(&mut fixture, &mut session, start_transaction::OID, &[]), ResultCode::Success);
        let identifier = session.transactions.implied().expect("one is open").to_vec();
        assert_eq!(ask(&mut fixture, &mut session, OID, &[]), ResultCode::UnwillingToPerform, "implied");
        let oid = transaction_specification::OID;
        let named = Control { oid, critical: true, value: Some(&identifier) };
        let code = ask(&mut fixture, &mut session, OID, &[named]);
        assert_eq!(code, ResultCode::UnavailableCriticalExtension);
        assert_eq!(
            fixture.compare("uid=ann,dc=com", "description", "touched").code,
            ResultCode::NoSuchAttribute
        );
    }
}
