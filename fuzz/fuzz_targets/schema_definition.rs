#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pando_fuzz::schema_definition::check(data));
