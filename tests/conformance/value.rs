//! Values that the vectors of several folders share.

use crate::fields::{Fields, integer};
use kafka_coordination::fetch::FetchParams;
use kafka_coordination::{ErrorCode, TopicId};
use serde_json::Value;
use std::collections::BTreeMap;

/// The topic ids of a scenario, by their aliases.
pub(crate) struct TopicIds<'a>(BTreeMap<&'a str, TopicId>);

impl<'a> TopicIds<'a> {
    /// Reads the field `topic_ids`: alias to 32 hexadecimal digits.
    pub(crate) fn of(scenario: &Fields<'a>) -> Result<Self, String> {
        let entries = scenario.object("topic_ids")?;
        let ids = entries.entries().map(|(alias, digits)| {
            let bits = digits.as_str().and_then(|digits| u128::from_str_radix(digits, 16).ok());
            let bits = bits.ok_or_else(|| format!("not a topic id: {digits}"))?;
            Ok((alias, TopicId::from_u128(bits)))
        });
        Ok(Self(ids.collect::<Result<_, String>>()?))
    }

    /// The id with this alias.
    pub(crate) fn by_alias(&self, alias: &str) -> Result<TopicId, String> {
        let id = self.0.get(alias).copied();
        id.ok_or_else(|| format!("unknown alias {alias}"))
    }

    /// The id that a tuple names: an alias, or `null` for the all-zero id.
    pub(crate) fn id(&self, value: &Value) -> Result<TopicId, String> {
        match value {
            Value::Null => Ok(TopicId::ZERO),
            Value::String(alias) => self.by_alias(alias),
            _ => Err(format!("not an alias: {value}")),
        }
    }
}

/// The columns of a tuple, which must have exactly `N`.
pub(crate) fn columns<const N: usize>(tuple: &Value) -> Result<&[Value; N], String> {
    let columns = tuple.as_array().and_then(|columns| columns.as_slice().try_into().ok());
    columns.ok_or_else(|| format!("not a tuple of {N}: {tuple}"))
}

/// Text, or nothing for `null`.
pub(crate) fn optional_text(value: &Value) -> Result<Option<&str>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(format!("not text: {value}")),
    }
}

/// An integer, or nothing for `null`.
pub(crate) fn optional_integer<T: TryFrom<i64>>(value: &Value) -> Result<Option<T>, String> {
    if value.is_null() {
        return Ok(None);
    }
    integer(value).map(Some)
}

/// The five columns of a parameters tuple that follow its identity.
pub(crate) fn params(columns: &[Value; 8]) -> Result<FetchParams, String> {
    let [_, _, _, offset, log_start_offset, max_bytes, leader_epoch, last_fetched_epoch] = columns;
    Ok(FetchParams {
        fetch_offset: integer(offset)?,
        log_start_offset: integer(log_start_offset)?,
        max_bytes: integer(max_bytes)?,
        leader_epoch: optional_integer(leader_epoch)?,
        last_fetched_epoch: optional_integer(last_fetched_epoch)?,
    })
}

/// The error with this name.
pub(crate) fn error_code(name: &str) -> Result<ErrorCode, String> {
    ErrorCode::from_name(name).ok_or_else(|| format!("unknown error {name}"))
}
