//! The command itself: its version, and what it says of arguments that it does not know. All else of it is in the black-box tests, which use
//! the binary that is built for this one.

use std::process::{Command, Output};

fn pando(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pando")).args(arguments).output().expect("it was built")
}

#[test]
fn it_says_its_version() {
    let output = pando(&["--version"]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("pando {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn arguments_that_are_not_known_are_refused() {
    for (arguments, named) in
        [(&["sevre"][..], "serve"), (&["serve", "--dat", "x"], "--data"), (&[], "Usage")]
    {
        let output = pando(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(named), "{arguments:?}: {text}");
    }
}
