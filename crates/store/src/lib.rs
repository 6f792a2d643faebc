//! One shard of the DIT: segments, slots, DN hash, indexes, search, read points, apply.
