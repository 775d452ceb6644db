"""The metadata log and its snapshots as files: batches of records, each with its base offset and its bytes."""

import struct
from dataclasses import dataclass

LOG_OVERHEAD = 12


@dataclass(frozen=True)
class Batch:
    base: int
    end: int
    data: bytes


def batches(directory):
    """The whole batches of all segments; what is written at this moment may be torn and is left out."""
    found = []
    for segment in sorted(directory.glob("*.log")):
        data = segment.read_bytes()
        at = 0
        while at + LOG_OVERHEAD <= len(data):
            base, length = struct.unpack_from(">qi", data, at)
            whole = data[at : at + LOG_OVERHEAD + length]
            if length <= 0 or len(whole) < LOG_OVERHEAD + length:
                break
            last_delta = struct.unpack_from(">i", whole, 23)[0]
            found.append(Batch(base, base + last_delta + 1, whole))
            at += len(whole)
    return found


def end(directory):
    """Where the log ends."""
    return max((batch.end for batch in batches(directory)), default=0)


def snapshots(directory):
    """Complete snapshots by name, the one that the log begins with aside."""
    found = {path.name: path for path in directory.glob("*.checkpoint")}
    return {name: path for name, path in sorted(found.items()) if not name.startswith("0" * 20 + "-")}


def largest(directory):
    """The bytes of the largest snapshot."""
    return max((path.stat().st_size for path in snapshots(directory).values()), default=0)


def offset(snapshot):
    """How far a snapshot reaches."""
    return int(snapshot.split("-")[0])


def difference(ours, theirs, high_watermark):
    """Where two logs differ below the high watermark, or that there is nothing to compare; empty if all is equal."""
    theirs = {batch.base: batch for batch in batches(theirs) if batch.end <= high_watermark}
    ours = {batch.base: batch for batch in batches(ours) if batch.end <= high_watermark}
    start = max(min(theirs, default=0), min(ours, default=0))
    compared = 0
    for base in sorted(base for base in ours.keys() | theirs.keys() if base >= start):
        mine, other = (log[base].data if base in log else b"" for log in (ours, theirs))
        if mine != other:
            return f"at offset {base}: {mine.hex()} instead of {other.hex()}"
        compared += 1
    return "" if compared else "no batch in common"


def compared(ours, theirs, high_watermark):
    """How many batches `difference` compares."""
    bases = [{batch.base for batch in batches(log) if batch.end <= high_watermark} for log in (ours, theirs)]
    return len(bases[0] & bases[1])
