//! Voters as plain structures: no check, no order, no sharing of names.

use std::sync::Arc;

/// A voter that owns its texts.
#[derive(Clone)]
pub(crate) struct Voter {
    pub(crate) id: i32,
    pub(crate) directory: [u8; 16],
    pub(crate) endpoints: Vec<(String, String, u16)>,
    pub(crate) versions: (i16, i16),
}

/// Copies a set of shared voters, and adds one.
pub(crate) fn add(voters: &[Arc<Voter>], voter: &Arc<Voter>) -> Vec<Arc<Voter>> {
    let mut more = Vec::with_capacity(voters.len() + 1);
    more.extend_from_slice(voters);
    more.push(Arc::clone(voter));
    more
}

fn small(number: usize) -> u8 {
    u8::try_from(number).expect("a small number")
}

/// Writes the record of voters; no length is above 126.
pub(crate) fn encode(voters: &[Voter], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, small(voters.len() + 1)]);
    for voter in voters {
        out.extend_from_slice(&voter.id.to_be_bytes());
        out.extend_from_slice(&voter.directory);
        out.push(small(voter.endpoints.len() + 1));
        for (name, host, port) in &voter.endpoints {
            out.push(small(name.len() + 1));
            out.extend_from_slice(name.as_bytes());
            out.push(small(host.len() + 1));
            out.extend_from_slice(host.as_bytes());
            out.extend_from_slice(&port.to_be_bytes());
            out.push(0);
        }
        out.extend_from_slice(&voter.versions.0.to_be_bytes());
        out.extend_from_slice(&voter.versions.1.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
    }
    out.push(0);
}

/// Reads it back.
pub(crate) fn decode(bytes: &[u8]) -> Vec<Voter> {
    let mut at = 2;
    let mut take = |length: usize| {
        at += length;
        &bytes[at - length..at]
    };
    let count = usize::from(take(1)[0]) - 1;
    let mut voters = Vec::with_capacity(count);
    for _ in 0..count {
        let id = i32::from_be_bytes(take(4).try_into().expect("4 bytes"));
        let directory = take(16).try_into().expect("16 bytes");
        let of_voter = usize::from(take(1)[0]) - 1;
        let mut endpoints = Vec::with_capacity(of_voter);
        for _ in 0..of_voter {
            let mut text = || {
                let length = usize::from(take(1)[0]) - 1;
                String::from_utf8(take(length).to_vec()).expect("text")
            };
            let (name, host) = (text(), text());
            let port = u16::from_be_bytes(take(2).try_into().expect("2 bytes"));
            take(1);
            endpoints.push((name, host, port));
        }
        let mut version = || i16::from_be_bytes(take(2).try_into().expect("2 bytes"));
        let versions = (version(), version());
        take(2);
        voters.push(Voter { id, directory, endpoints, versions });
    }
    voters
}
