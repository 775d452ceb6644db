//! The racks of brokers, in the form in which they are hashed.

use crate::group::name_order::{compare_names, rank};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

/// How many brokers are remembered at a time: any, but those whose ids differ by a multiple of it displace each other.
const PLACES: usize = 1024;

/// How many combinations of racks are remembered at a time.
const BLOCKS: usize = 64;

/// How many bytes they may take before all are forgotten.
const BLOCK_BYTES: usize = 1 << 14;

/// A broker whose rack was looked up.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    broker: i32,
    /// Of what generation the rest is; 0 for none.
    generation: u32,
    rack: Option<RackIndex>,
}

/// The number of a rack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RackIndex(u32);

/// The racks of a partition, in the order of its replicas, and where their bytes stand.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// By [`key_of_racks`]; 0 for none.
    key: u64,
    start: usize,
    end: usize,
}

/// A rack, with what is needed to order and to hash it.
#[derive(Clone, Debug)]
struct Rack {
    /// The first bytes of the name, so that their order is that of names: decides between most names at once.
    key: u128,
    /// Where it stands in `names`.
    name: Range<usize>,
    /// Where it stands in `bytes`.
    bytes: Range<usize>,
}

/// Remembers the racks of brokers while they do not change.
#[derive(Clone, Debug, Default)]
pub(super) struct Racks {
    places: Vec<Place>,
    generation: u32,
    known: Vec<Rack>,
    /// Numbers of `known` in the order of their names.
    sorted: Vec<RackIndex>,
    names: String,
    /// For each rack what is fed into the hash: length, code units, length.
    bytes: Vec<u8>,
    /// Most partitions have the racks of another one: their bytes are put together once.
    blocks: Vec<Block>,
    block_bytes: Vec<u8>,
}

impl Racks {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            generation: 0,
            known: Vec::new(),
            sorted: Vec::new(),
            names: String::new(),
            bytes: Vec::new(),
            blocks: Vec::new(),
            block_bytes: Vec::new(),
        }
    }

    /// Forgets every rack, and keeps the memory. O(1).
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.sorted.clear();
        self.names.clear();
        self.bytes.clear();
        self.forget_blocks();
        if let Some(next) = self.generation.checked_add(1) {
            self.generation = next;
        } else {
            self.places.clear();
            self.generation = 1;
        }
    }

    /// The number of a broker's rack: remembered, or asked for.
    #[inline]
    pub(super) fn of_broker<'a>(
        &mut self,
        broker: i32,
        look_up: impl FnOnce(i32) -> Option<&'a str>,
    ) -> Option<RackIndex> {
        let index = broker.cast_unsigned() as usize % PLACES;
        match self.places.get(index) {
            Some(place) if place.broker == broker && place.generation == self.generation => {
                place.rack
            }
            _ => self.look_up(broker, index, look_up(broker)),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, broker: i32, index: usize, name: Option<&str>) -> Option<RackIndex> {
        if self.places.is_empty() {
            self.generation = self.generation.max(1);
            self.places.resize(PLACES, Place::default());
        }
        let rack = name.map(|name| self.intern(name));
        if let Some(place) = self.places.get_mut(index) {
            *place = Place { broker, generation: self.generation, rack };
        }
        rack
    }

    fn intern(&mut self, name: &str) -> RackIndex {
        let found = self.sorted.binary_search_by(|&index| {
            let known = self.rack(index).map_or("", |rack| self.name(rack));
            compare_names(known, name)
        });
        let place = match found {
            Ok(place) => return self.sorted.get(place).copied().unwrap_or_default(),
            Err(place) => place,
        };
        // As many racks as there are brokers, whose ids are `i32`s.
        let index = RackIndex(u32::try_from(self.known.len()).unwrap_or(u32::MAX));
        let (name_start, bytes_start) = (self.names.len(), self.bytes.len());
        self.names.push_str(name);
        self.bytes.extend_from_slice(&count(name.encode_utf16().count()).to_le_bytes());
        put_text(&mut self.bytes, name);
        self.known.push(Rack {
            key: key_of(name),
            name: name_start..self.names.len(),
            bytes: bytes_start..self.bytes.len(),
        });
        self.sorted.insert(place, index);
        index
    }

    fn rack(&self, index: RackIndex) -> Option<&Rack> {
        self.known.get(index.0 as usize)
    }

    fn name(&self, rack: &Rack) -> &str {
        self.names.get(rack.name.clone()).unwrap_or_default()
    }

    /// Orders racks by name.
    fn compare(&self, a: RackIndex, b: RackIndex) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match (self.rack(a), self.rack(b)) {
            (Some(a), Some(b)) => {
                a.key.cmp(&b.key).then_with(|| compare_names(self.name(a), self.name(b)))
            }
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }

    /// What is fed into the hash for a rack.
    fn bytes(&self, index: RackIndex) -> &[u8] {
        let range = self.rack(index).map_or(0..0, |rack| rack.bytes.clone());
        self.bytes.get(range).unwrap_or_default()
    }

    /// Appends what is fed into the hash for the racks of a partition, given in any order, which is lost.
    #[inline]
    pub(super) fn put(&mut self, racks: &mut [RackIndex], out: &mut Vec<u8>) {
        let key = key_of_racks(racks);
        // The higher bits of the product depend on every rack.
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % BLOCKS;
        match self.blocks.get(place) {
            Some(block) if key != 0 && block.key == key => {
                out.extend_from_slice(
                    self.block_bytes.get(block.start..block.end).unwrap_or_default(),
                );
            }
            _ => self.put_new(racks, key, place, out),
        }
    }

    #[inline(never)]
    fn put_new(&mut self, racks: &mut [RackIndex], key: u64, place: usize, out: &mut Vec<u8>) {
        racks.sort_unstable_by(|&a, &b| self.compare(a, b));
        let written = out.len();
        for &rack in &*racks {
            out.extend_from_slice(self.bytes(rack));
        }
        let bytes = out.get(written..).unwrap_or_default();
        if key == 0 || bytes.len() > BLOCK_BYTES {
            return;
        }
        if self.blocks.is_empty() {
            self.blocks.resize(BLOCKS, Block::default());
        }
        if self.block_bytes.len() + bytes.len() > BLOCK_BYTES {
            self.forget_blocks();
        }
        let start = self.block_bytes.len();
        self.block_bytes.extend_from_slice(bytes);
        if let Some(block) = self.blocks.get_mut(place) {
            *block = Block { key, start, end: self.block_bytes.len() };
        }
    }

    fn forget_blocks(&mut self) {
        self.blocks.fill(Block::default());
        self.block_bytes.clear();
    }
}

/// The racks in one number, which no other racks have: up to four, whose numbers are below 65535; else 0, as for none.
#[inline]
fn key_of_racks(racks: &[RackIndex]) -> u64 {
    if racks.len() > size_of::<u64>() / size_of::<u16>() {
        return 0;
    }
    racks
        .iter()
        .try_fold(0, |key, rack| {
            let is_small = rack.0 < u32::from(u16::MAX);
            is_small.then_some(key << u16::BITS | u64::from(rack.0 + 1))
        })
        .unwrap_or_default()
}

/// Appends the code units of a text and, after them, how many they are: `putString` of hash4j, Kafka's hash library.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let start = bytes.len();
    if text.is_ascii() {
        bytes.resize(start + text.len() * size_of::<u16>(), 0);
        let (units, _) = bytes.get_mut(start..).unwrap_or_default().as_chunks_mut::<2>();
        for (unit, byte) in units.iter_mut().zip(text.bytes()) {
            *unit = [byte, 0];
        }
    } else {
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
    let units = (bytes.len() - start) / size_of::<u16>();
    bytes.extend_from_slice(&count(units).to_le_bytes());
}

/// A number of code units as Java has it.
fn count(units: usize) -> i32 {
    i32::try_from(units).unwrap_or(i32::MAX)
}

/// The first 16 bytes, ranked, with zeros behind a shorter name.
fn key_of(name: &str) -> u128 {
    let mut key = [0; size_of::<u128>()];
    for (place, byte) in key.iter_mut().zip(name.bytes()) {
        *place = rank(byte);
    }
    u128::from_be_bytes(key)
}
