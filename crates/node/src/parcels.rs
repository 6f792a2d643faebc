//! A parcel of the log is applied as it stands there: at a recovery, and where another replica proposed it.

use dsa::audit::What;
use dsa::journal::Command;
use dsa::parcel::{Body, Envelope, Head, Parcel};
use dsa::{Applier, ApplyError};

/// Begins the record `index` of commands: the ids are free from here on that its head frees.
///
/// # Errors
/// [`ApplyError::Id`] where a reader may still look at an entry that had one of them.
pub(crate) fn begin(applier: &mut Applier, index: u64, free_before: Option<u64>) -> Result<(), ApplyError> {
    free_before.map_or(Ok(()), |before| applier.begin_record(index, before))
}

/// Applies a parcel, which is the record `index`: `on_head` looks at its head first, `apply` applies each of its commands of
/// updates. Rules, settings and versions of the behaviour stand in parcels of their own ([`Parcel::rules`]), which change nothing in the directory. A
/// change of settings is reported to the audit log as one of an unknown client, unless it `is_reported`.
///
/// # Errors
/// In words, why it cannot be applied, or what `on_head` says.
pub(crate) fn apply(
    applier: &mut Applier,
    (index, mut parcel, is_reported): (u64, Parcel<'_>, bool),
    on_head: impl FnOnce(&mut Applier, &Head) -> Result<(), String>,
    mut apply: impl FnMut(&mut Applier, &Command<'_>, &Envelope<'_>) -> Result<(), ApplyError>,
) -> Result<(), String> {
    on_head(applier, &parcel.head)?;
    applier.begin_parcel(index, &parcel.head);
    while let Some(item) = parcel.next_command()? {
        match item.body {
            Body::Updates(command) => {
                apply(applier, &command, &item.envelope).map_err(|error| error.to_string())?;
            }
            Body::Times(times) => applier.apply_times(times).map_err(|error| error.to_string())?,
            Body::Settings(_) if !is_reported => {
                applier.report_recovered(What::Settings, parcel.head.time_ms);
            }
            Body::Settings(_) | Body::Rules(_) | Body::Behaviour(_) | Body::Nothing => {}
        }
    }
    applier.end_parcel(index);
    Ok(())
}
