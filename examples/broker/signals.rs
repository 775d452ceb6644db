//! What the process is told from outside: to end, or to print its counters.

use std::io;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To print the counters.
    #[cfg_attr(windows, expect(dead_code, reason = "no signal of Windows asks for it"))]
    Report,
    /// To end.
    End,
}

/// The signals, heard from the moment this exists.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    user: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }

    /// The next one. May be dropped without missing any.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::End,
            _ = self.terminate.recv() => Asked::End,
            _ = self.user.recv() => Asked::Report,
        }
    }
}

/// Ctrl-C, which is all that there is elsewhere.
#[cfg(windows)]
#[derive(Debug)]
pub(crate) struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    /// The next one. May be dropped without missing any.
    pub(crate) async fn next(&mut self) -> Asked {
        self.0.recv().await;
        Asked::End
    }
}
