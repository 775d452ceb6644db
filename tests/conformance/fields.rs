//! Reads the fields of a JSON object and minds that none is left unread.

use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
#[cfg(feature = "std")]
use std::sync::LazyLock;

/// A JSON object that remembers which of its fields were asked for.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    read: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    /// The fields of `value`, which must be an object.
    pub(crate) fn of(value: &'a Value) -> Result<Self, String> {
        let object = value.as_object().ok_or_else(|| format!("not an object: {value}"))?;
        Ok(Self { object, read: RefCell::default() })
    }

    /// An object without fields.
    #[cfg(feature = "std")]
    pub(crate) fn none() -> Self {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        Self { object: &NONE, read: RefCell::default() }
    }

    /// The field `key`, if the object has it.
    pub(crate) fn find(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.object.get_key_value(key)?;
        self.read.borrow_mut().insert(key);
        Some(value)
    }

    /// The field `key`.
    pub(crate) fn value(&self, key: &str) -> Result<&'a Value, String> {
        self.find(key).ok_or_else(|| format!("no field {key}"))
    }

    /// The field `key` as a list.
    pub(crate) fn list(&self, key: &str) -> Result<&'a [Value], String> {
        let value = self.value(key)?;
        let list = value.as_array().ok_or_else(|| format!("{key} is not a list: {value}"))?;
        Ok(list)
    }

    /// The field `key` as text.
    pub(crate) fn text(&self, key: &str) -> Result<&'a str, String> {
        let value = self.value(key)?;
        value.as_str().ok_or_else(|| format!("{key} is not text: {value}"))
    }

    /// The field `key` as a Boolean.
    pub(crate) fn boolean(&self, key: &str) -> Result<bool, String> {
        let value = self.value(key)?;
        value.as_bool().ok_or_else(|| format!("{key} is not a Boolean: {value}"))
    }

    /// The field `key` as an integer of type `T`.
    pub(crate) fn integer<T: TryFrom<i64>>(&self, key: &str) -> Result<T, String> {
        integer(self.value(key)?).map_err(|error| format!("{key}: {error}"))
    }

    /// The field `key` as an object.
    pub(crate) fn object(&self, key: &str) -> Result<Self, String> {
        Self::of(self.value(key)?).map_err(|error| format!("{key}: {error}"))
    }

    /// The names and values of all fields, for an object that is a map.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let object = self.object;
        self.read.borrow_mut().extend(object.keys().map(String::as_str));
        object.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Fails if a field was never asked for: then the replay leaves something out.
    pub(crate) fn all_read(&self) -> Result<(), String> {
        let read = self.read.borrow();
        let mut unread = self.object.keys().filter(|key| !read.contains(key.as_str()));
        unread.next().map_or(Ok(()), |key| Err(format!("unknown field {key}")))
    }
}

/// An integer, written as a number or, if it is large, as decimal text.
pub(crate) fn integer<T: TryFrom<i64>>(value: &Value) -> Result<T, String> {
    let number = match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("not an integer of its type: {value}"))
}

/// Fails, showing both, if `actual` is not `expected`.
pub(crate) fn same<T: PartialEq + Debug>(
    what: &str,
    expected: &T,
    actual: &T,
) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    Err(format!("{what}\n  expected {expected:?}\n  actual   {actual:?}"))
}

/// Runs `replay` on each step of a scenario; says in which step it failed and fails on fields that it does not read.
pub(crate) fn each_step(
    scenario: &Fields<'_>,
    mut replay: impl FnMut(&str, &Fields<'_>, &Fields<'_>) -> Result<(), String>,
) -> Result<(), String> {
    each_answered_step(scenario, |op, step, expect| {
        step.value("expect")?;
        replay(op, step, expect)
    })
}

/// As [`each_step`], for steps some of which have no answer to expect.
pub(crate) fn each_answered_step(
    scenario: &Fields<'_>,
    mut replay: impl FnMut(&str, &Fields<'_>, &Fields<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let nothing = Value::Object(Map::new());
    for (number, step) in scenario.list("steps")?.iter().enumerate() {
        let mut run = || {
            let step = Fields::of(step)?;
            let expect = Fields::of(step.find("expect").unwrap_or(&nothing))?;
            replay(step.text("op")?, &step, &expect)?;
            step.all_read()?;
            expect.all_read()
        };
        run().map_err(|error| format!("step {} ({}): {error}", number + 1, step["op"]))?;
    }
    Ok(())
}
