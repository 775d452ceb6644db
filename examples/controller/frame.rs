//! Frames on a connection: a length of four bytes, then so many bytes.

#[path = "../broker/frame.rs"]
mod incoming;

use bytes::Buf;
pub(crate) use incoming::{MAX_REQUEST, read};
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Writes these bytes as a frame.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let length = i32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let length = length.to_be_bytes();
    stream.write_all_buf(&mut length.as_slice().chain(bytes)).await
}
