//! The word lists that templates may name without a file beside them.

/// Given names.
pub(super) const FIRST: &str = "Ada Aaron Abel Agnes Alan Alice Amir Anna Anton Ayla Beate Ben Boris Bruno Carla Carlos \
    Chen Clara Daniel Daria David Diego Dora Edith Elena Elias Emma Enzo Erik Eva Fatima Felix Frida Georg Grace Hana \
    Hans Helen Hugo Ida Igor Ines Ivan Jana Jonas Jorge Judith Kai Karin Ken Lara Leo Lin Louis Lucia Maja Marco Maria \
    Mateo Mei Mina Nadia Nils Nora Olga Omar Oscar Otto Paula Pedro Petra Priya Quentin Rania Ravi Rita Robert Rosa Sami \
    Sara Sergei Silke Simon Sofia Sven Tara Theo Thomas Tina Uma Ursula Vera Viktor Wanda Wei Xenia Yara Yuki Zoe";

/// Family names.
pub(super) const LAST: &str = "Abbott Adler Ahmed Almeida Andersen Bauer Becker Bell Berg Bianchi Brandt Brown Carter \
    Castro Chang Clark Costa Cruz Dahl Davis Diaz Dubois Eriksen Evans Fischer Flores Fontaine Garcia Gomez Graf Gupta \
    Haas Hansen Hoffmann Huang Huber Ibrahim Ito Ivanova Jansen Jensen Johnson Kaiser Keller Khan Kim Klein Koch Kowalski \
    Kumar Lang Larsen Lee Lehmann Lopez Maier Martin Meyer Miller Moreau Moreno Mueller Nakamura Nguyen Nielsen Novak \
    Olsen Ortega Patel Peters Petrov Popescu Quinn Ramos Reyes Richter Rossi Roth Sato Schmidt Schulz Silva Singh Smith \
    Sousa Suzuki Tanaka Taylor Torres Ueda Urban Vargas Vogel Wagner Walker Wang Weber Williams Wolf Wu Yamamoto Zhang \
    Ziegler Zimmermann";

/// Streets, without the word street.
pub(super) const STREETS: &str = "Main|Oak|Pine|Maple|Cedar|Elm|View|Washington|Lake|Hill|Park|Spring|North|Ridge|Church|\
    Willow|Mill|Sunset|Railroad|Jackson|West|South|Center|Highland|Forest|River|Meadow|East|Chestnut|Lincoln";

/// Cities.
pub(super) const CITIES: &str = "Atlanta|Austin|Baltimore|Berlin|Boston|Buffalo|Charlotte|Chicago|Cleveland|Columbus|\
    Dallas|Denver|Detroit|El Paso|Fresno|Hamburg|Houston|Kansas City|Las Vegas|Long Beach|Los Angeles|Memphis|Miami|\
    Milwaukee|Minneapolis|Nashville|New Orleans|New York|Oakland|Orlando|Philadelphia|Phoenix|Pittsburgh|Portland|\
    Richmond|Sacramento|Salt Lake City|San Antonio|San Diego|San Francisco|San Jose|Seattle|Tampa|Tucson|Tulsa";

/// States of the USA by their two letters.
pub(super) const STATES: &str = "AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|\
    NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY";

/// Months.
pub(super) const MONTHS: &str =
    "January February March April May June July August September October November December";

/// Words for running text.
pub(super) const WORDS: &str = "a account after all and any are as at back because before between both but by can case \
    change city company could day department desk different each early even every example few first for form from give \
    good great group hand have high house how in interest into is keep large last later leave life line little long look \
    make many may mean meet more most move much must name need never new night no number of office old on one only or \
    order other our out over own part people place plan point program project public question right room same second \
    see service several side small some state still such system take team than that the their then there these they \
    thing think this time to under until up use very visit water way week well what when where which while who will with \
    word work world year";

/// Splits one of the lists above into its items.
pub(super) fn items(list: &str) -> Vec<Vec<u8>> {
    let separator = if list.contains('|') { '|' } else { ' ' };
    list.split(separator)
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| item.as_bytes().to_vec())
        .collect()
}

/// The built-in list of this name, as `<file:NAME>` finds it.
pub(super) fn by_name(name: &str) -> Option<&'static str> {
    match name {
        "first.names" | "first" => Some(FIRST),
        "last.names" | "last" => Some(LAST),
        "streets" => Some(STREETS),
        "cities" => Some(CITIES),
        "states" => Some(STATES),
        "words" => Some(WORDS),
        _ => None,
    }
}
