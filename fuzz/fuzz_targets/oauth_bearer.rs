#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pando_fuzz::oauth_bearer::check(data));
