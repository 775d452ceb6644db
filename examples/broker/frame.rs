//! Frames on a connection: a length of four bytes, then so many bytes.

use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The largest request taken. A client's batches together are a few megabytes at most.
pub(crate) const MAX_REQUEST: usize = 32 << 20;

/// What is set aside for a frame before its bytes arrive: the length is the client's claim, so the rest is taken only
/// as the bytes come in.
const FIRST_ALLOCATION: usize = 16 << 10;

/// Reads one frame; `None` when the peer has closed between two frames.
pub(crate) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    max: usize,
) -> io::Result<Option<Bytes>> {
    let claimed = match stream.read_i32().await {
        Ok(claimed) => claimed,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    let len = usize::try_from(claimed)
        .ok()
        .filter(|len| *len <= max)
        .ok_or(io::ErrorKind::InvalidData)?;
    let mut frame = BytesMut::with_capacity(len.min(FIRST_ALLOCATION));
    let mut rest = stream.take(u64::try_from(len).map_err(|_| io::ErrorKind::InvalidData)?);
    while frame.len() < len {
        if rest.read_buf(&mut frame).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(frame.freeze()))
}
