#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pando_fuzz::effective_rights::check(data));
