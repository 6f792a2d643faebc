use super::*;

/// A small empty shard of `dc=com` with the standard schema.
pub(crate) fn small_shard() -> Arc<Shard> {
    shard_with(vec![])
}

pub(crate) fn shard_with(indexes: Vec<IndexSettings>) -> Arc<Shard> {
    shard_of(standard_with(""), indexes)
}

/// The standard schema and more.
pub(crate) fn standard_with(types: &str) -> Schema {
    let builder = schema::Builder::new().standard().file("test", types);
    builder.build().expect("the schema is sound")
}

pub(crate) fn shard_of(schema: Schema, indexes: Vec<IndexSettings>) -> Arc<Shard> {
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes,
        memory_bytes_max: 256 << 20,
        removals_max: crate::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    Shard::create(settings, Arc::new(schema)).expect("address space is plenty")
}

impl Shard {
    /// A read point that nothing protects: for tests without a writer.
    pub(crate) fn unpinned(&self) -> ReadPoint<'_> {
        ReadPoint { shard: self, sequence: self.readers.published() }
    }
}
