//! Section 4.4: unsolicited notification.

use crate::common::*;
use dsa::State;
use model::ResultCode::*;
use proto::tag;

/// messageID zero, an ExtendedResponse with its name, no value; and then the session ends.
#[test]
fn s4_4_1_notice_of_disconnection() {
    let mut client = Client::new();
    let mut out = Vec::new();
    client.session.shutdown(&mut out);
    let (after, state) = client.exchange(&[]);
    let all = answers(&out);
    let What::End(notice) = &all[0].what else { panic!("not a notice") };
    assert_eq!((all.len(), all[0].id, notice.tag, notice.code), (1, 0, tag::EXTENDED_RESPONSE, Unavailable));
    assert_eq!((notice.oid.as_deref(), &notice.value), (Some("1.3.6.1.4.1.1466.20036"), &None));
    assert_eq!((after, state), (vec![], State::Close));
}
