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
use store::derived::Derived;

/// What an entry is written with.
/// Borrowed from the request, or from the copy that a suspended search has.
#[derive(Clone, Copy)]
pub(crate) struct RequestedSelection<'a> {
    pub(crate) selectors: Octets<'a>,
    pub(crate) types_only: bool,
    /// Is it for a search that follows changes?
    pub(crate) follows: bool,
    pub(crate) view: ViewId,
}

/// Do searches that follow changes bring an attribute, and test it?
/// All that are stored, and those derived ones that change with their entry only.
pub(crate) fn is_synchronised(attribute_type: TypeId, schema: &Schema) -> bool {
    Derived::of(attribute_type, schema).is_none_or(Derived::is_synchronised)
}

/// The attributes that were asked for and may be read.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    all_user: bool,
    all_operational: bool,
    wanted: Vec<(TypeId, WantedOptions)>,
    /// Of memberOf and isMemberOf those that are asked for, whether or not they may be read.
    member_of: [Option<TypeId>; 2],
    /// Is `member` asked for, whether or not it may be read?
    members: bool,
    view: ViewId,
    pub(crate) types_only: bool,
    /// Is it for a search that follows changes?
    /// Then it has nothing that changes without a change of the entry: the client would have what was true once (RFC 4533 section 4.2).
    follows: bool,
}

impl Selection {
    /// Looks the selectors up. What the schema does not know is ignored, as the RFC asks.
    /// Access rules are not applied here but in [`Selection::includes`]: a rule may depend on the attribute that is stored.
    pub(crate) fn new(asked: RequestedSelection<'_>, schema: &Schema) -> Selection {
        let RequestedSelection { selectors, types_only, follows, view } = asked;
        let mut selection = Selection {
            all_user: selectors.is_empty(),
            all_operational: false,
            wanted: Vec::new(),
            member_of: [None; 2],
            members: false,
            view,
            types_only,
            follows,
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
        // `+` asks for one of the two, since they have the same values.
        let [member_of, is_member_of] = schema.member_of();
        let is_named = |id: &TypeId| selection.is_named(Description::plain(*id), schema);
        let member_of = member_of.filter(|id| selection.all_operational || is_named(id));
        let member = Description::plain(schema.well_known().member);
        selection.member_of = [member_of, is_member_of.filter(is_named)];
        selection.members = selection.names(member, false, schema);
        selection
    }

    /// Of memberOf and isMemberOf those that are asked for, whether or not they may be read.
    /// Rights are asked for each entry that is shown: their values are those of other entries, of which a template knows nothing.
    #[inline]
    pub(crate) fn member_of(&self) -> [Option<TypeId>; 2] {
        self.member_of
    }

    /// Is `member` asked for, whether or not it may be read?
    #[inline]
    pub(crate) fn wants_members(&self) -> bool {
        self.members
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
        if self.follows && !is_synchronised(attribute_type, schema) {
            return false;
        }
        // RFC 4511 section 4.5.1.8 and RFC 3673: `*` is all user attributes, `+` all operational ones.
        let by_kind = match schema.attribute_type(attribute_type).is_operational() {
            true => self.all_operational || (star_is_all && self.all_user),
            false => self.all_user || (star_is_all && self.all_operational),
        };
        by_kind || self.is_named(description, schema)
    }

    /// Is an attribute that no entry stores among those that were asked for, whether or not it may be read?
    pub(crate) fn asks_for(&self, description: Description, schema: &Schema) -> bool {
        self.names(description, false, schema)
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
