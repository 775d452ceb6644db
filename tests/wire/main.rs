//! The `wire` feature: decoding what nobody vouches for, and fetch messages.

mod filled;
mod hostile;
mod requests;
mod responses;
mod session;
mod vectors;
