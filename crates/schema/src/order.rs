//! Which rule puts the values of an attribute in order, for what sorts entries (RFC 2891).
//!
//! Many attributes, `cn` and `sn` among them, have an equality rule and no ordering rule. The normal forms of most equality rules are in the
//! order of the ordering rule of their family, so that one can stand for the other: lists of people are sorted by such attributes.

use crate::element::AttributeType;
use crate::rule::{Rule, RuleKind};
use crate::schema::Schema;
use crate::subschema::general;

impl Schema {
    /// The rule by whose normal forms values of this type are put in order: the one with this name or OID, or the type's own without a
    /// name. `None` if there is none, or if the one that was named does not suit the type or puts nothing in order.
    pub fn order_of(&self, kind: &AttributeType, named: Option<&[u8]>) -> Option<Rule> {
        let Some(named) = named else { return kind.order() };
        let rule = Rule::find(named).filter(|rule| rule.is_order())?;
        let own = [kind.ordering, kind.equality].into_iter().flatten();
        let syntaxes = [kind.syntax.oid(), general(kind.syntax).oid()];
        let suits = syntaxes.contains(&rule.assertion_syntax()) || { own }.any(|own| own.compares_like(rule));
        suits.then_some(rule)
    }
}

impl AttributeType {
    /// The rule by whose normal forms values are in order: the ordering rule, or the equality rule of an attribute without one.
    pub fn order(&self) -> Option<Rule> {
        self.ordering.or(self.equality.filter(|rule| rule.is_order()))
    }
}

impl Rule {
    /// Are its normal forms in an order that means something? Those of an equality rule are where its family has an ordering rule,
    /// or is one of strings. The order of normalised DNs and OIDs says nothing to anybody.
    fn is_order(self) -> bool {
        self.kind() == RuleKind::Ordering
            || matches!(
                self,
                Rule::CaseIgnore
                    | Rule::CaseExact
                    | Rule::CaseIgnoreIa5
                    | Rule::CaseExactIa5
                    | Rule::CaseIgnoreList
                    | Rule::NumericString
                    | Rule::TelephoneNumber
                    | Rule::Boolean
                    | Rule::Integer
                    | Rule::OctetString
                    | Rule::GeneralizedTime
                    | Rule::Uuid
                    | Rule::Csn
            )
    }
}

#[cfg(test)]
mod tests {
    use crate::Builder;
    use crate::rule::Rule;

    #[test]
    fn attributes_have_an_order_of_their_own_or_by_name() {
        let schema = Builder::new().standard().build().expect("the schema is whole");
        let order = |name: &str, rule: Option<&str>| {
            let kind = schema.attribute_type(schema.find_type(name.as_bytes()).expect("it is known"));
            schema.order_of(kind, rule.map(str::as_bytes))
        };
        assert_eq!(order("sn", None), Some(Rule::CaseIgnore));
        assert_eq!(order("createTimestamp", None), Some(Rule::GeneralizedTimeOrdering));
        assert_eq!(order("mail", None), Some(Rule::CaseIgnoreIa5));
        assert_eq!(order("sn", Some("2.5.13.3")), Some(Rule::CaseIgnoreOrdering));
        assert_eq!(order("sn", Some("caseExactOrderingMatch")), Some(Rule::CaseExactOrdering));
        assert_eq!(order("mail", Some("caseIgnoreOrderingMatch")), Some(Rule::CaseIgnoreOrdering));
        for (name, rule) in [
            ("member", None),
            ("objectClass", None),
            ("objectClass", Some("objectIdentifierMatch")),
            ("sn", Some("integerOrderingMatch")),
            ("sn", Some("caseIgnoreSubstringsMatch")),
            ("sn", Some("wordMatch")),
            ("sn", Some("nosuch")),
            ("jpegPhoto", None),
        ] {
            assert_eq!(order(name, rule), None, "{name} by {rule:?}");
        }
    }
}
