//! A plain encoder of fetch responses, to hold sizes against.

use crate::reading::Reading;
use kafka_coordination::TopicId;

/// A partition of a response: its topic's id and name, its index and what was read.
pub(crate) type Carried<'a> = (TopicId, Option<&'a str>, i32, &'a Reading);

/// The body of a response without node endpoints.
pub(crate) fn encode(version: i16, error: i16, session_id: i32, list: &[Carried<'_>]) -> Vec<u8> {
    let mut body = Body { is_flexible: version >= 12, bytes: Vec::new() };
    body.put(&0_i32.to_be_bytes());
    if version >= 7 {
        body.put(&error.to_be_bytes());
        body.put(&session_id.to_be_bytes());
    }
    let topics: Vec<_> = list
        .chunk_by(|left, right| if version >= 13 { left.0 == right.0 } else { left.1 == right.1 })
        .collect();
    body.count(topics.len());
    for topic in topics {
        if version >= 13 {
            body.put(topic[0].0.as_bytes());
        } else {
            body.text(topic[0].1.unwrap_or_default());
        }
        body.count(topic.len());
        for &(_, _, partition, reading) in topic {
            body.partition(version, partition, reading);
        }
        body.tags(&[]);
    }
    body.tags(&[]);
    body.bytes
}

struct Body {
    is_flexible: bool,
    bytes: Vec<u8>,
}

impl Body {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn count(&mut self, count: usize) {
        if self.is_flexible {
            self.varint(count + 1);
        } else {
            self.put(&(count as i32).to_be_bytes());
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_flexible {
            self.varint(text.len() + 1);
        } else {
            self.put(&(text.len() as i16).to_be_bytes());
        }
        self.put(text.as_bytes());
    }

    /// Tagged fields, of which every struct has a list from the flexible versions on.
    fn tags(&mut self, fields: &[(usize, Vec<u8>)]) {
        if self.is_flexible {
            self.varint(fields.len());
            for (tag, bytes) in fields {
                self.varint(*tag);
                self.varint(bytes.len());
                self.put(bytes);
            }
        }
    }

    fn partition(&mut self, version: i16, partition: i32, reading: &Reading) {
        self.put(&partition.to_be_bytes());
        self.put(&reading.error.code().to_be_bytes());
        self.put(&reading.high_watermark.to_be_bytes());
        if version >= 4 {
            self.put(&reading.high_watermark.to_be_bytes());
        }
        if version >= 5 {
            self.put(&reading.log_start.to_be_bytes());
        }
        if version >= 4 {
            self.aborted(reading.aborted);
        }
        if version >= 11 {
            self.put(&(-1_i32).to_be_bytes());
        }
        self.count(reading.records as usize);
        self.bytes.extend((0..reading.records).map(|_| 0));
        let mut fields = Vec::new();
        // Each of them is a struct of its own, with an empty list of tags at its end.
        if reading.has_diverging_epoch {
            fields.push((0, vec![0; 4 + 8 + 1]));
        }
        if reading.has_current_leader {
            fields.push((1, vec![0; 4 + 4 + 1]));
        }
        if reading.has_snapshot_id {
            fields.push((2, vec![0; 8 + 4 + 1]));
        }
        self.tags(&fields);
    }

    fn aborted(&mut self, aborted: Option<u32>) {
        match aborted {
            Some(count) => self.count(count as usize),
            None if self.is_flexible => self.varint(0),
            None => self.put(&(-1_i32).to_be_bytes()),
        }
        for _ in 0..aborted.unwrap_or(0) {
            self.put(&[0; 16]);
            self.tags(&[]);
        }
    }
}
