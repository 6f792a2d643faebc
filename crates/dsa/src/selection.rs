//! Which attributes a search returns (RFC 4511 section 4.5.1.8).
//!
//! Looked up once for a list of selectors and kept with the templates that are made by it; an entry is never asked.
//!
//! The list of a request says what is wanted; the view says what may be read of it. Both are settled when a template is made, which is
//! once for a shape. Attributes of which only some values may be read are the exception: they are written value by value.

use crate::access::{ViewId, Views};
use ::access::Right;
use model::{Description, TypeId};
use proto::list::Octets;
use schema::{Schema, WantedOptions};

/// The attributes that were asked for and may be read.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    all_user: bool,
    all_operational: bool,
    wanted: Vec<(TypeId, WantedOptions)>,
    view: ViewId,
    pub(crate) types_only: bool,
}

impl Selection {
    /// Looks the selectors up. What the schema does not know is ignored, as the RFC asks.
    /// Access rules are not applied here but in [`Selection::includes`]: a rule may depend on the attribute that is stored.
    pub(crate) fn new(selectors: Octets<'_>, types_only: bool, view: ViewId, schema: &Schema) -> Selection {
        let mut selection = Selection {
            all_user: selectors.is_empty(),
            all_operational: false,
            wanted: Vec::new(),
            view,
            types_only,
        };
        for selector in selectors.iter() {
            match selector {
                b"*" => selection.all_user = true,
                b"+" => selection.all_operational = true,
                // RFC 4529: `@class` stands for every attribute that the class and its superclasses name.
                [b'@', class @ ..] => {
                    let named = schema.find_class(class).map(|class| schema.class(class).all_attributes());
                    selection.wanted.extend(named.into_iter().flatten().map(|t| (t, WantedOptions::NONE)));
                }
                // "1.1" is an OID that no attribute has: alone it selects nothing.
                name => selection.wanted.extend(schema.find_wanted(name)),
            }
        }
        selection
    }

    /// Is a stored attribute returned? `star_is_all` for the root DSE, whose operational attributes clients expect
    /// from `*` too.
    /// On every value: an attribute that rules cut into values is not included but judged.
    pub(crate) fn includes(
        &self,
        description: Description,
        star_is_all: bool,
        schema: &Schema,
        views: &mut Views,
    ) -> bool {
        self.names(description, star_is_all, schema)
            && views.on_attribute(self.view, description, schema).every.has(Right::Read)
    }

    /// Is it for each of its values to be decided whether it is returned?
    pub(crate) fn judges(&self, description: Description, schema: &Schema, views: &mut Views) -> bool {
        let on = views.on_attribute(self.view, description, schema);
        on.some.has(Right::Read) && !on.every.has(Right::Read) && self.names(description, false, schema)
    }

    /// Is an attribute among those that were asked for?
    fn names(&self, description: Description, star_is_all: bool, schema: &Schema) -> bool {
        let attribute_type = description.attribute_type;
        // RFC 4511 section 4.5.1.8 and RFC 3673: `*` is all user attributes, `+` all operational ones.
        let by_kind = match schema.attribute_type(attribute_type).is_operational() {
            true => self.all_operational || (star_is_all && self.all_user),
            false => self.all_user || (star_is_all && self.all_operational),
        };
        by_kind || self.is_named(description, schema)
    }

    /// Was an attribute asked for by its name, or that of a supertype or a class?
    pub(crate) fn is_named(&self, description: Description, schema: &Schema) -> bool {
        let named = |(wanted, options): &(TypeId, WantedOptions)| {
            schema.is_subtype(description.attribute_type, *wanted)
                && schema.includes_options(description.options, options)
        };
        self.wanted.iter().any(named)
    }
}
