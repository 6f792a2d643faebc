//! Directories whose schema a test changes, and what the subschema shows of that.

use super::journal::journaled;
use super::*;
use dsa::SUBSCHEMA_DN;

/// A planted directory without a log, and one with it; each has a thread, and so a schema, of its own.
pub fn each(test: impl Fn(&mut Client) + Sync) {
    let run = |is_logged: bool| {
        let mut client = if is_logged { journaled().0 } else { Client::empty(config()) };
        client.plant();
        test(&mut client);
        assert!(client.dsa.shard().writer().check(10).is_empty());
    };
    for is_logged in [false, true] {
        let run = &run;
        let done = std::thread::scope(|scope| scope.spawn(move || run(is_logged)).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

/// How many values of an attribute of the subschema have a text.
pub fn shown(client: &mut Client, attribute: &str, what: &str) -> usize {
    let all = client.read(SUBSCHEMA_DN, &[attribute]).values(attribute).unwrap_or_default();
    all.iter().filter(|text| text.contains(what)).count()
}
