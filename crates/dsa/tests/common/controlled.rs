//! Requests with controls, and what answers bring back with theirs.

use super::*;

impl Found {
    /// The entry that a response control brings: its DN and attributes. `None` without that control.
    pub fn brought(&self, oid: &[u8]) -> Option<(String, Vec<Attribute>)> {
        let control = self.controls.iter().find(|(known, _)| known.as_bytes() == oid)?;
        let value = control.1.as_deref().expect("the control has a value");
        let entry = proto::control::read_entry::decode_entry(value).expect("it is a SearchResultEntry");
        let values = |values: Octets<'_>| values.iter().map(<[u8]>::to_vec).collect();
        Some((
            text(entry.dn),
            entry.attributes.iter().map(|a| (text(a.description), values(a.values))).collect(),
        ))
    }

    /// As text, the values of an attribute of the entry that a response control brings, sorted.
    pub fn brought_values(&self, oid: &[u8], attribute: &str) -> Option<Vec<String>> {
        let (_, attributes) = self.brought(oid)?;
        let (_, values) = attributes.into_iter().find(|(name, _)| name == attribute)?;
        let mut values: Vec<String> = values.iter().map(|value| text(value)).collect();
        values.sort();
        Some(values)
    }
}

/// The value of an assertion control.
pub fn assertion(filter: &str) -> Vec<u8> {
    let filter = filter_string::parse(filter.as_bytes()).expect("a filter");
    proto::control::assertion::encode(&filter.filter())
}

/// The value of a pre-read or post-read control.
pub fn wanted(attributes: &[&str]) -> Vec<u8> {
    let raw = selection(attributes);
    proto::control::read_entry::encode_selection(Octets::parse(&raw).expect("just encoded"))
}

/// A control with a value.
pub fn control<'a>(oid: &'a [u8], value: &'a [u8], critical: bool) -> Control<'a> {
    Control { oid, critical, value: Some(value) }
}

/// Updates as tests write them down, each sent with controls.
impl Client {
    pub fn add_with(&mut self, dn: &str, attributes: Given<'_>, controls: &[Control<'_>]) -> Found {
        let list = attributes_of(attributes);
        let attributes = Attributes::parse(&list).expect("just encoded");
        self.ask(&Request::Add(Add { dn: dn.as_bytes(), attributes }), controls)
    }

    pub fn read_with(&mut self, dn: &str, controls: &[Control<'_>]) -> Found {
        self.search_with(dn, Scope::Base, "(objectClass=*)", &["*"], |_| {}, controls)
    }

    pub fn delete_with(&mut self, dn: &str, controls: &[Control<'_>]) -> Found {
        self.ask(&Request::Delete(dn.as_bytes()), controls)
    }

    pub fn modify_with(
        &mut self,
        dn: &str,
        changes: &[(ModifyKind, &str, &[&str])],
        controls: &[Control<'_>],
    ) -> Found {
        let list = changes_of(changes);
        let changes = Changes::parse(&list).expect("just encoded");
        self.ask(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), controls)
    }

    pub fn rename_with(&mut self, dn: &str, new_rdn: &str, controls: &[Control<'_>]) -> Found {
        let (dn, new_rdn) = (dn.as_bytes(), new_rdn.as_bytes());
        let request = ModifyDn { dn, new_rdn, delete_old_rdn: true, new_superior: None };
        self.ask(&Request::ModifyDn(request), controls)
    }

    pub fn compare_with(
        &mut self,
        dn: &str,
        attribute: &str,
        value: &str,
        controls: &[Control<'_>],
    ) -> Found {
        let assertion = model::filter::Assertion { attribute: attribute.as_bytes(), value: value.as_bytes() };
        self.ask(&Request::Compare(Compare { dn: dn.as_bytes(), assertion }), controls)
    }
}
