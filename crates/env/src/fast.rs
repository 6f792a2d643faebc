//! One switch for every way past the main road: `--cfg pando_main_road` builds a program that takes none of them, so that the whole
//! test suite can show that they change nothing but the speed. A fast path may only say yes: whatever it does not recognise is left
//! to the code that handles everything. They are
//!
//! - in `dsa`: updates that are admitted by their outlines (`bundle/update/door.rs`), prepared writes, searches of a cached query
//!   template (`op/search/again.rs`), hints, and transactions whose updates are all prepared;
//! - in `store`: modifies that only replace single values (`apply/replace.rs`);
//! - in `bulk`: entries that are like others before them (`store::Rows`).

/// Are fast paths taken?
pub const IS_ON: bool = !cfg!(pando_main_road);
