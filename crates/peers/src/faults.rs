//! Faults of links of which each is found by one test: xtask/holes.toml says which.

env::faults! {
    /// A hello may name another node than its certificate does.
    HELLO_ID_NOT_CERTIFICATE = "hello-id-not-certificate";
    /// A node is linked whose log ends before what it has acknowledged.
    OLD_IMAGE_ACCEPTED = "old-image-accepted";
    /// A node is linked that counts its start as one that was seen in another run.
    SAME_BOOT_IMAGE = "same-boot-image";
    /// A node is linked whose earlier runs are others than were seen.
    SECOND_START_OF_IMAGE = "second-start-of-image";
}
