//! Streams of adds: they are cut at the same places however the bytes come, what is cut out is decoded or refused, and an
//! add that was decoded says the same when it is written anew, in either form.

use proto::add_stream::{decode, frame};
use proto::message::{Frame, Request};

/// The first byte is the size of pieces, the rest is the stream.
pub fn check(data: &[u8]) {
    let Some((&size, stream)) = data.split_first() else { return };
    let mut at = 0;
    while let Ok(Frame::Complete { len }) = frame(&stream[at..]) {
        assert!(len > 1 && len <= stream.len() - at, "an add has tag and length");
        comes_piece_by_piece(&stream[at..at + len], usize::from(size) + 1);
        comes_back(&stream[at..at + len]);
        at += len;
    }
    if let Ok(Frame::Incomplete { needed }) = frame(&stream[at..]) {
        assert!(needed > stream.len() - at, "what is whole is found to be");
    }
}

fn comes_piece_by_piece(add: &[u8], size: usize) {
    for end in (0..add.len()).step_by(size) {
        match frame(&add[..end]) {
            Ok(Frame::Incomplete { needed }) => assert!(needed > end && needed <= add.len().max(2)),
            other => panic!("{other:?} of {end} bytes of {}", add.len()),
        }
    }
}

fn comes_back(bytes: &[u8]) {
    let Ok(add) = decode(bytes) else { return };
    let (mut bare, mut message) = (Vec::new(), Vec::new());
    add.encode(&mut bare);
    Request::Add(add).encode(&mut message, 1, &[]);
    for form in [bare, message] {
        assert_eq!(frame(&form), Ok(Frame::Complete { len: form.len() }));
        let again = decode(&form).expect("what was encoded is decoded");
        assert_eq!((again.dn, again.attributes), (add.dn, add.attributes));
    }
}
