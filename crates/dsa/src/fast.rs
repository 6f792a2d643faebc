//! One switch for every way past the main road: `--cfg pando_main_road` builds a program that takes none of them, so that the whole
//! test suite can show that they change nothing but the speed. A fast path may only say yes: whatever it does not recognise is left
//! to the code that handles everything.

/// Are fast paths taken?
pub(crate) const IS_ON: bool = !cfg!(pando_main_road);
