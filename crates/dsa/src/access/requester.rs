//! Who asks, as far as rules can tell: what a bind and the connection decide is evaluated here, once, into the class of the requester.
//!
//! A bind costs one walk over the rules, with a look into each group that they name. Requests after it look at a number.
//! What is decided here must not change between two binds, or it must be noticed: rules and groups are, by [`super::views`]; the
//! connection is, for StartTLS makes the session anonymous; the requester's own entry is, where a rule looks at it.

use super::bounds::LimitNumbers;
use super::candidate::{Candidate, is_within};
use super::class::Match;
use super::groups::Groups;
use super::rules::{OfRequester, ReadySubject, RuleSet};
use crate::own_entry::OwnEntry;
use ::access::{AuthMethod, Condition, Peer, Reach};
use schema::Schema;
use smallvec::SmallVec;
use std::net::IpAddr;
use store::ReadPoint;
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};

/// What access rules can ask of a connection.
/// All of it is the connection's and nothing the client's: no request can change what it is taken for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// Bits of the key that protects it.
    pub(crate) strength: u16,
    /// The same, of TLS.
    pub(crate) tls: u16,
    /// Where the client comes from.
    pub(crate) address: Option<IpAddr>,
    /// Is it a Unix stream socket?
    pub(crate) is_local_socket: bool,
    /// Name of the listener that it came by.
    pub(crate) listener: Option<&'static str>,
}

/// A class of this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub(super) u32);

impl ClassId {
    /// Of a requester whose class is not known: it has no right at all.
    /// An identity begins with it. If one is ever used without having been classified, it is refused everything.
    pub(crate) const NONE: ClassId = ClassId(0);
    /// Of the root DN, which has every right.
    pub(crate) const ROOT: ClassId = ClassId(1);
    pub(super) const FIRST: u32 = 2;
}

/// As whom rights are asked.
/// It is copied with each request: a number and two ids. Numbers of classes mean something in one thread only; who hands
/// a requester to another thread takes a [`super::views::Reader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requester {
    pub(crate) class: ClassId,
    pub(crate) own: Option<OwnEntry>,
    /// The entry of the authentication identity.
    pub(crate) real: Option<OwnEntry>,
}

impl Requester {
    /// The root DN, and what the server does by itself.
    pub(crate) const ROOT: Requester = Requester { class: ClassId::ROOT, own: None, real: None };
    /// Somebody whose class is not known here.
    pub(crate) const NOBODY: Requester = Requester { class: ClassId::NONE, own: None, real: None };

    /// Has it every right?
    #[inline]
    pub(crate) fn is_root(self) -> bool {
        self.class == ClassId::ROOT
    }
}

/// What a requester has proved, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Proof<'a> {
    /// DN; empty for anonymous.
    pub(crate) dn: &'a [u8],
    pub(crate) own: Option<OwnEntry>,
    pub(crate) auth: &'a AuthMethod,
    /// DN and entry of the authentication identity.
    pub(crate) real: (&'a [u8], Option<OwnEntry>),
}

/// Everything that a bind and a connection tell of a requester.
pub(super) struct Asking<'a> {
    proof: Proof<'a>,
    connection: Connection,
    read_point: ReadPoint<'a>,
    evaluator: &'a mut Evaluator,
    groups: &'a mut Groups,
    /// Answers to the conditions of the rule set, as far as they were asked.
    answers: SmallVec<[Option<Truth>; 32]>,
    own: Candidate<'a>,
    real: Candidate<'a>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        proof: Proof<'a>,
        connection: Connection,
        read_point: ReadPoint<'a>,
        evaluator: &'a mut Evaluator,
        groups: &'a mut Groups,
    ) -> Asking<'a> {
        let candidate = |(dn, own): (&'a [u8], Option<OwnEntry>)| {
            Candidate::new(dn, own.and_then(|own| own.find(read_point)))
        };
        let (own, real) = (candidate((proof.dn, proof.own)), candidate(proof.real));
        Asking { proof, connection, read_point, evaluator, groups, answers: SmallVec::new(), own, real }
    }

    /// The rules and subjects that match, in the order of the rule set.
    /// Each subject of a rule is a match of its own. Which of them holds may hang on the entry, so none makes another needless.
    pub(super) fn matches(&mut self, set: &RuleSet) -> Vec<Match> {
        let mut matches = Vec::new();
        for (rule, ready) in set.rules.iter().enumerate() {
            for (subject, ready) in ready.subjects.iter().enumerate() {
                let truth = self.of_subject(set, ready);
                if truth != Truth::False {
                    let (rule, subject) = (rule as u32, subject as u32);
                    matches.push(Match { rule, subject, is_sure: truth == Truth::True });
                }
            }
        }
        matches
    }

    /// The first limit rule that fits, and those before it that may: a group that is gone must not free its members of a limit.
    /// Rules behind the first that fits are not asked, so a long list costs those least who are named first.
    pub(super) fn limits(&mut self, set: &RuleSet) -> SmallVec<[u64; 4]> {
        let mut numbers = LimitNumbers::new();
        for (at, rule) in set.limits.iter().enumerate() {
            match self.of_any(set, &rule.subjects) {
                Truth::False => {}
                Truth::Undefined => numbers.put(at, false),
                Truth::True => {
                    numbers.put(at, true);
                    break;
                }
            }
        }
        numbers.end(self.proof.dn.is_empty())
    }

    /// Any of several subjects.
    fn of_any(&mut self, set: &RuleSet, subjects: &[ReadySubject]) -> Truth {
        let mut any = Truth::False;
        for subject in subjects {
            match self.of_subject(set, subject) {
                Truth::True => return Truth::True,
                Truth::Undefined => any = Truth::Undefined,
                Truth::False => {}
            }
        }
        any
    }

    /// All of its conditions.
    /// One condition that is false settles it, also behind one that is undefined. The order in which they are written is
    /// of no consequence.
    fn of_subject(&mut self, set: &RuleSet, subject: &ReadySubject) -> Truth {
        let mut all = Truth::True;
        for (condition, negated) in &subject.of_requester {
            match (self.answer(set, *condition), negated) {
                (Truth::Undefined, _) => all = Truth::Undefined,
                (Truth::True, true) | (Truth::False, false) => return Truth::False,
                _ => {}
            }
        }
        all
    }

    /// The answer to a condition of the rule set. Each is asked once, however many rules have it.
    fn answer(&mut self, set: &RuleSet, at: usize) -> Truth {
        if let Some(Some(known)) = self.answers.get(at) {
            return *known;
        }
        let truth = self.is_so(&set.conditions[at]);
        self.answers.resize(self.answers.len().max(at + 1), None);
        self.answers[at] = Some(truth);
        truth
    }

    /// Is this true of the requester? What cannot be known is unknown, as in a filter.
    fn is_so(&mut self, asked: &OfRequester) -> Truth {
        let proof = self.proof;
        let key = asked.key.as_deref();
        match &asked.condition {
            Condition::Anyone => Truth::True,
            Condition::Anonymous => truth(proof.dn.is_empty()),
            Condition::Users => truth(!proof.dn.is_empty()),
            Condition::Dn(reach, _) => self.own.lies(self.read_point.shard().schema(), *reach, key),
            Condition::UserFilter(filter) => {
                // Anonymous has no entry. Of a name whose entry is gone nothing is known.
                if proof.dn.is_empty() {
                    return Truth::False;
                }
                let Some(own) = self.own.entry() else { return Truth::Undefined };
                let compiled = Compiled::new(&filter.filter(), self.read_point.shard(), &|_| true);
                self.evaluator.evaluate(&compiled, own, self.read_point)
            }
            Condition::Group { dn, nested } => self.is_member(false, dn, *nested),
            Condition::Auth(methods) => truth(methods.contains(proof.auth)),
            Condition::Strength(bits) => truth(self.connection.strength >= *bits),
            Condition::Tls(bits) => truth(self.connection.tls >= *bits),
            Condition::Peer(peers) => truth(peers.iter().any(|peer| match peer {
                Peer::Ldapi => self.connection.is_local_socket,
                Peer::Network(network) => self.connection.address.is_some_and(|own| network.contains(own)),
            })),
            Condition::Listener(name) => truth(self.connection.listener == Some(name.as_str())),
            Condition::Real(condition) => match &**condition {
                Condition::Dn(reach, _) => self.real.lies(self.read_point.shard().schema(), *reach, key),
                Condition::Group { dn: group, nested } => self.is_member(true, group, *nested),
                _ => Truth::Undefined,
            },
            Condition::Requester
            | Condition::Parent(_)
            | Condition::DnAttribute(_)
            | Condition::GroupAttribute(_)
            | Condition::Same(_) => unreachable!("they are questions of an entry"),
        }
    }

    /// Is the requester a member of a group? `nested`: also through groups in it.
    fn is_member(&mut self, is_real: bool, group: &str, nested: bool) -> Truth {
        let who = if is_real { &self.real } else { &self.own };
        if who.is_nobody() {
            return Truth::False;
        }
        self.groups.is_member(who, (group, nested), self.read_point, self.evaluator)
    }
}

/// Does a DN lie there?
/// By normal forms of names, not by ids: the base of a rule need not be an entry, nor need the requester.
pub(super) fn lies(schema: &Schema, dn: &[u8], reach: Reach, base: &str) -> Truth {
    if dn.is_empty() {
        return Truth::False;
    }
    let (Some(base), Some(own)) = (key(schema, base.as_bytes()), key(schema, dn)) else {
        return Truth::Undefined;
    };
    truth(is_within(&own, reach, &base))
}

/// Of a fact that is known: it is never undefined.
fn truth(is_so: bool) -> Truth {
    if is_so { Truth::True } else { Truth::False }
}

/// The normal form of a DN.
fn key(schema: &Schema, dn: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    schema.normalise_dn(dn, &mut key).ok().map(|()| key)
}
