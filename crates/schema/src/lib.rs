//! Subschema: definitions, syntaxes, matching rules, stringprep, normalisation, checks.
