//! Decisions without steps: the gate, back-off after a push, plugin calls, descriptions.

use super::{belief, current, error, stored};
use crate::fields::{Fields, integer, same};
use crate::runner::Outcome;
use crate::topology_backoff::{NoJitter, window, without_jitter};
use crate::value::optional_text;
use kafka_coordination::topology::{
    self, Backoff, DELETE_FAILED, Describe, Described, DescriptionStatus, Ending, Fencing,
    GetEnding, Groups, Heartbeat, Life, Plugin, SetOutcome, StreamsGroup, TopologyConfig,
    TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic};

/// The group of scenarios that name none.
const GROUP: &str = "g";

/// The group of a gate scenario, which is there.
struct Present(StreamsGroup);

impl Groups for Present {
    fn latest(&self, _: &str) -> Option<StreamsGroup> {
        Some(self.0)
    }

    fn committed(&self, _: &str) -> Option<StreamsGroup> {
        Some(self.0)
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_offsets(&self, _: &str) -> bool {
        false
    }
}

/// A manager as of these vectors, with a loaded shard.
fn manager(has_plugin: bool) -> TopologyManager {
    let plugin = if has_plugin { Plugin::Present(Fencing::Tokens) } else { Plugin::Absent };
    let config = TopologyConfig::default().with_plugin(plugin).with_backoff(without_jitter());
    let mut manager = TopologyManager::new(config);
    manager.loaded(0, Monotonic::from_millis(0)).expect("it was not loaded");
    manager
}

/// The gate as a manager has it, and as its kernels make it.
pub(super) fn gate(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let now = Monotonic::from_millis(scenario.integer("now_ms")?);
    let statuses = match scenario.value("status")?.as_array() {
        Some(list) => list.iter().map(|status| integer(&status["code"])).collect(),
        None => Ok(Vec::new()),
    }?;
    let group = StreamsGroup {
        current: current(scenario.value("current_topology_epoch")?)?,
        belief: belief(scenario)?,
        life: Life::Live,
    };
    let heartbeat = Heartbeat {
        group_id: GROUP,
        version: scenario.integer("api_version")?,
        member_epoch: scenario.integer("member_epoch")?,
        error: error(scenario.text("error")?)?,
        statuses: &statuses,
        current: group.current,
        belief: group.belief,
    };
    let before = window(scenario.value("backoff_before")?)?;
    let has_plugin = scenario.boolean("plugin_present")?;
    let expect = scenario.object("expect")?;
    let expected =
        (expect.boolean("topology_description_required")?, window(expect.value("backoff_after")?)?);
    expect.all_read()?;

    let mut backoff = Backoff::new(without_jitter(), 0);
    if let Some(before) = before {
        backoff.insert(GROUP.into(), before);
    }
    let wanted = heartbeat.wanted().filter(|_| has_plugin);
    let is_asked = wanted
        .is_some_and(|epoch| backoff.arm_if_not_active(GROUP, epoch.get(), &mut NoJitter, now));
    same("kernels", &expected, &(is_asked, backoff.get(GROUP).copied()))?;

    let mut state = manager(has_plugin).export().expect("no effect waits");
    state.push_windows.extend(before.map(|before| (GROUP.into(), before)));
    let config = manager(has_plugin).config().clone();
    let mut manager = TopologyManager::import(config, &state).map_err(|it| it.to_string())?;
    let is_asked = manager.heartbeat(&heartbeat, &Present(group), &mut NoJitter, now);
    same("manager", &expected, &(is_asked, manager.push_window(GROUP).copied()))?;
    Ok(Outcome::AsKafka)
}

pub(super) fn settle(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let now = Monotonic::from_millis(scenario.integer("now_ms")?);
    let pushed = current(scenario.value("pushed_epoch")?)?.ok_or("a push without epoch")?;
    let written = match optional_text(scenario.value("write_error")?)? {
        None => Ok(()),
        Some(name) => Err(error(name)?),
    };
    let mut backoff = Backoff::new(without_jitter(), 0);
    if let Some(before) = window(scenario.value("backoff_before")?)? {
        backoff.insert(GROUP.into(), before);
    }
    let expect = scenario.object("expect")?;
    same("error passed on", &expect.boolean("error_passed_on")?, &written.is_err())?;
    topology::settle(&mut backoff, GROUP, pushed, written, &mut NoJitter, now);
    let after = backoff.get(GROUP).copied();
    same("window", &window(expect.value("backoff_after")?)?, &after)?;
    expect.all_read()?;
    Ok(Outcome::AsKafka)
}

/// How a call with this behaviour ends, as a host reports it.
fn ending(behaviour: &str) -> Result<Ending, String> {
    let failed = |message: &str| Ending::Failed(Some(message.into()));
    Ok(match behaviour {
        "success" => Ending::Done,
        "permanent_failure" => Ending::Refused(Some("too large".into())),
        "wrapped_permanent_failure" => Ending::Refused(Some("wrapped too large".into())),
        "transient_failure" => failed("try later"),
        "other_failure" => failed("backend offline"),
        "other_failure_without_message" => Ending::Failed(None),
        "wrapped_other_failure" => failed("wrapped offline"),
        "wrapper_without_cause" => Ending::FailedWithoutCause,
        "synchronous_throw" | "synchronous_throw_permanent" | "null_future" => Ending::NotCalled,
        other => return Err(format!("unknown behaviour {other}")),
    })
}

pub(super) fn plugin_outcome(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let behaviour = optional_text(scenario.value("plugin_behaviour")?)?;
    // Without plugin no set is made, and a delete has nothing to do.
    let (set, delete) = match behaviour {
        None => (Ending::NotCalled, Ending::Done),
        Some(behaviour) => (ending(behaviour)?, ending(behaviour)?),
    };
    let expect = scenario.object("expect")?;

    let (kind, message) = match set.of_set() {
        SetOutcome::Stored => ("success", None),
        SetOutcome::Permanent(message) => ("permanent", message),
        SetOutcome::Transient(message) => ("transient", message),
    };
    let expected = expect.object("set")?;
    let expected_set = (expected.text("kind")?, optional_text(expected.value("message")?)?);
    same("set", &expected_set, &(kind, message.as_deref()))?;
    expected.all_read()?;

    let actual = if delete.is_done() {
        (ErrorCode::None, None)
    } else {
        (ErrorCode::GroupDeletionFailed, Some(DELETE_FAILED))
    };
    let expected = expect.object("delete")?;
    let expected_delete =
        (error(expected.text("error")?)?, optional_text(expected.value("message")?)?);
    same("delete", &expected_delete, &actual)?;
    expected.all_read()?;
    expect.all_read()?;
    Ok(Outcome::AsKafka)
}

pub(super) fn describe(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let described = Described {
        is_requested: true,
        error: error(scenario.text("group_error")?)?,
        current: current(scenario.value("topology_epoch")?)?,
        stored: stored(scenario.value("stored_description_topology_epoch")?)?,
    };
    let has_plugin = scenario.boolean("plugin_present")?;
    let behaviour = optional_text(scenario.value("plugin_behaviour")?)?;
    let expect = scenario.object("expect")?;

    let (was_called, status) = match manager(has_plugin).describe(&described) {
        Describe::Answer(status) => (false, status),
        Describe::Ask(_) => {
            let ending = match behaviour.ok_or("the plugin is not to be asked")? {
                "success" => GetEnding::Found,
                "returns_null_value" => GetEnding::Missing,
                _ => GetEnding::Failed,
            };
            (true, ending.status())
        }
    };
    same("plugin called", &expect.boolean("plugin_called")?, &was_called)?;
    same("status", &expect.integer("status_code")?, &status.code())?;
    same("name", &expect.text("topology_description_status")?, &status.name())?;
    let is_present = status == DescriptionStatus::Available;
    same("description", &expect.boolean("description_present")?, &is_present)?;
    expect.all_read()?;
    Ok(Outcome::AsKafka)
}
