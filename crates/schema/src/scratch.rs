//! One buffer per thread for forms that are looked at and thrown away, so that checks allocate nothing.

use std::cell::Cell;

/// A buffer that grew beyond this is given back to the allocator.
const KEPT_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends an empty buffer; an inner call gets another one.
pub(crate) fn with<R>(run: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = BUFFER.take();
    buffer.clear();
    let result = run(&mut buffer);
    if buffer.capacity() <= KEPT_BYTES_MAX {
        BUFFER.set(buffer);
    }
    result
}
