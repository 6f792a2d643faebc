//! Faults that tests injected: each must be found by the property that is there for it. A crate names its own with
//! [`faults!`](crate::faults). They exist in a build with `--cfg pando_planted` only: without it [`is`] is constantly false,
//! and the optimiser removes what depends on it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A fault, by its name on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub &'static str);

/// A moment at which a test looks at the product from beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub &'static str);

/// Declares the faults of a crate, and `ALL` with all of them.
#[macro_export]
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        use $crate::planted::Fault;
        $($(#[$doc])* pub const $name: Fault = Fault($text);)*
        /// All faults of this crate.
        pub const ALL: &[Fault] = &[$($name),*];
    };
}

/// Called with each moment that is reported.
type Watcher = Option<Rc<dyn Fn(Moment)>>;

thread_local! {
    static NOW: Cell<Option<Fault>> = const { Cell::new(None) };
    static REPLAYS: Cell<bool> = const { Cell::new(false) };
    static WATCHER: RefCell<Watcher> = const { RefCell::new(None) };
}

/// The fault that the environment names, for a server or a test that is started with it.
static STARTED_WITH: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(VARIABLE).ok());
/// The variable that names it.
const VARIABLE: &str = "PANDO_PLANTED";

/// The fault that every thread has.
static EVERYWHERE: RwLock<Option<Fault>> = RwLock::new(None);

/// This thread has the fault from now on, or none.
///
/// # Panics
/// In a build without faults, if one is asked for.
pub fn plant(fault: Option<Fault>) {
    assert!(cfg!(pando_planted) || fault.is_none(), "faults need a build with --cfg pando_planted");
    NOW.set(fault);
}

/// Every thread of the process has the fault from now on, besides its own, or none has: for a test that is alone in its
/// process.
///
/// # Panics
/// As [`plant`].
pub fn plant_everywhere(fault: Option<Fault>) {
    assert!(cfg!(pando_planted) || fault.is_none(), "faults need a build with --cfg pando_planted");
    *EVERYWHERE.write().unwrap_or_else(PoisonError::into_inner) = fault;
}

/// Does this thread have the fault?
#[inline]
pub fn is(fault: Fault) -> bool {
    let everywhere = || *EVERYWHERE.read().unwrap_or_else(PoisonError::into_inner);
    let is_started_with = || STARTED_WITH.as_deref() == Some(fault.0);
    cfg!(pando_planted) && (NOW.get() == Some(fault) || everywhere() == Some(fault) || is_started_with())
}

/// Does this thread have the fault while it replays a log?
#[inline]
pub fn is_at_replay(fault: Fault) -> bool {
    cfg!(pando_planted) && REPLAYS.get() && is(fault)
}

/// Sets what this thread calls with each moment from now on. Without faults in the build no moment is reported.
pub fn watch(watcher: Watcher) {
    WATCHER.set(watcher);
}

/// Tells the watcher of this thread, if there is one.
#[inline]
pub fn tell(moment: Moment) {
    if cfg!(pando_planted) {
        let watcher = WATCHER.with_borrow(Clone::clone);
        watcher.iter().for_each(|watcher| watcher(moment));
    }
}

/// Does work that replays a log.
#[inline]
pub fn replay<T>(work: impl FnOnce() -> T) -> T {
    if !cfg!(pando_planted) {
        return work();
    }
    REPLAYS.set(true);
    let done = work();
    REPLAYS.set(false);
    done
}
