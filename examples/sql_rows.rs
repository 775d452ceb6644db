//! Producers as rows of an SQL database, with the decision on one entry ([`judge`] and [`ProducerEntry::apply`]) used
//! alone, without the machine around it.
//!
//! A host that keeps its log in tables needs no snapshots and no replay: the batch and what is known of its producer are
//! written in one transaction, so that after a crash either both are there or neither.
//!
//! `cargo run --example sql_rows`

use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    AppendError, Batch, CachedBatch, Circumstances, Content, FirstSequence, Origin, ProducerEntry,
    Verdict, Verify, Window, judge,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::path::{Path, PathBuf};

/// The log, what is known of its producers, and the last five batches of each by which its retries are known.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS batch (
        log INTEGER, base_offset INTEGER, last_offset INTEGER, records BLOB,
        PRIMARY KEY (log, base_offset)
    );
    CREATE TABLE IF NOT EXISTS producer (
        log INTEGER, id INTEGER, epoch INTEGER, coordinator_epoch INTEGER, last_timestamp INTEGER,
        transaction_offset INTEGER,
        PRIMARY KEY (log, id)
    );
    CREATE TABLE IF NOT EXISTS cached_batch (
        log INTEGER, producer INTEGER, last_offset INTEGER, last_sequence INTEGER, offset_delta INTEGER,
        timestamp INTEGER,
        PRIMARY KEY (log, producer, last_offset)
    );
";

/// What a client sends: the header of a record batch, and records that nobody looks into.
#[derive(Clone, Copy, Debug)]
struct Produce {
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    count: i32,
    timestamp: i64,
    records: &'static str,
}

/// What the client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Written { base_offset: i64 },
    WrittenBefore { base_offset: i64 },
    Refused(AppendError),
}

/// Appends a batch in a transaction of its own.
fn append(database: &mut Connection, log: i64, batch: &Produce) -> rusqlite::Result<Answer> {
    let transaction = database.transaction()?;
    let answer = append_within(&transaction, log, batch)?;
    transaction.commit()?;
    Ok(answer)
}

/// Reads the producer's row, judges, writes the batch and the row.
fn append_within(
    transaction: &Transaction<'_>,
    log: i64,
    produce: &Produce,
) -> rusqlite::Result<Answer> {
    let base_offset = end_of(transaction, log)?;
    let batch = Batch {
        producer_id: produce.producer_id,
        producer_epoch: produce.producer_epoch,
        base_offset,
        last_offset: base_offset + i64::from(produce.count) - 1,
        content: Content::Data {
            base_sequence: produce.base_sequence,
            max_timestamp: Timestamp::from_millis(produce.timestamp),
            is_transactional: false,
        },
        position: None,
    };
    let circumstances = Circumstances {
        origin: Origin::Client,
        guard: None,
        transaction_version: None,
        verification: None,
        verify: Verify::On,
        first_sequence: FirstSequence::Any,
    };
    let mut entry = read_producer(transaction, log, batch.producer_id)?;
    let verdict = match judge(&entry, &batch, &circumstances) {
        Ok(verdict) => verdict,
        Err(error) => return Ok(Answer::Refused(error)),
    };
    match verdict {
        Verdict::Duplicate(known) => {
            return Ok(Answer::WrittenBefore { base_offset: known.first_offset() });
        }
        Verdict::NoProducer => {}
        Verdict::New => {
            // It says whether a transaction starts or ends with the batch: here are none.
            let _ = entry.apply(&batch);
            write_producer(transaction, log, batch.producer_id, &entry)?;
        }
    }
    transaction.prepare_cached("INSERT INTO batch VALUES (?, ?, ?, ?)")?.execute(params![
        log,
        batch.base_offset,
        batch.last_offset,
        produce.records
    ])?;
    Ok(Answer::Written { base_offset })
}

/// The offset that comes next.
fn end_of(database: &Connection, log: i64) -> rusqlite::Result<i64> {
    database
        .prepare_cached("SELECT coalesce(max(last_offset) + 1, 0) FROM batch WHERE log = ?")?
        .query_one([log], |row| row.get(0))
}

fn read_producer(database: &Connection, log: i64, id: i64) -> rusqlite::Result<ProducerEntry> {
    let window = database
        .prepare_cached(
            "SELECT last_offset, last_sequence, offset_delta, timestamp FROM cached_batch
             WHERE log = ? AND producer = ? ORDER BY last_offset",
        )?
        .query_map([log, id], |row| {
            Ok(CachedBatch {
                last_offset: row.get(0)?,
                last_sequence: row.get(1)?,
                offset_delta: row.get(2)?,
                timestamp: Timestamp::from_millis(row.get(3)?),
            })
        })?
        .collect::<rusqlite::Result<Window>>()?;
    let entry = database
        .prepare_cached(
            "SELECT epoch, coordinator_epoch, last_timestamp, transaction_offset FROM producer
             WHERE log = ? AND id = ?",
        )?
        .query_one([log, id], |row| {
            let timestamp = Timestamp::from_millis(row.get(2)?);
            Ok(ProducerEntry::new(row.get(0)?, row.get(1)?, timestamp, row.get(3)?, window))
        })
        .optional()?;
    Ok(entry.unwrap_or(ProducerEntry::UNKNOWN))
}

fn write_producer(
    transaction: &Transaction<'_>,
    log: i64,
    id: i64,
    entry: &ProducerEntry,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("REPLACE INTO producer VALUES (?, ?, ?, ?, ?, ?)")?.execute(
        params![
            log,
            id,
            entry.epoch(),
            entry.coordinator_epoch(),
            entry.last_timestamp().as_millis(),
            entry.current_transaction(),
        ],
    )?;
    transaction
        .prepare_cached("DELETE FROM cached_batch WHERE log = ? AND producer = ?")?
        .execute([log, id])?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO cached_batch VALUES (?, ?, ?, ?, ?, ?)")?;
    for batch in entry.window().iter() {
        let CachedBatch { last_offset, last_sequence, offset_delta, timestamp } = batch;
        let timestamp = timestamp.as_millis();
        insert.execute(params![log, id, last_offset, last_sequence, offset_delta, timestamp])?;
    }
    Ok(())
}

/// Forgets producers that have not been heard of since, and whose transactions have ended.
fn expire(database: &mut Connection, last: Timestamp) -> rusqlite::Result<usize> {
    let transaction = database.transaction()?;
    let old = "last_timestamp <= ? AND transaction_offset IS NULL";
    transaction.execute(
        &format!(
            "DELETE FROM cached_batch
             WHERE (log, producer) IN (SELECT log, id FROM producer WHERE {old})"
        ),
        [last.as_millis()],
    )?;
    let expired =
        transaction.execute(&format!("DELETE FROM producer WHERE {old}"), [last.as_millis()])?;
    transaction.commit()?;
    Ok(expired)
}

/// All batches of a log: offsets and records.
fn read_log(database: &Connection, log: i64) -> rusqlite::Result<Vec<(i64, i64, String)>> {
    database
        .prepare("SELECT base_offset, last_offset, records FROM batch WHERE log = ? ORDER BY base_offset")?
        .query_map([log], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let database = Connection::open(path)?;
    database.execute_batch(SCHEMA)?;
    Ok(database)
}

/// A database file that is not there before and after.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let name = format!("kafka-coordination-{name}-{}.sqlite", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        file.remove();
        file
    }

    fn remove(&self) {
        for suffix in ["", "-journal"] {
            let mut name = self.0.clone().into_os_string();
            name.push(suffix);
            // Whether there was one makes no difference.
            let _ = std::fs::remove_file(name);
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.remove();
    }
}

fn main() -> rusqlite::Result<()> {
    const LOG: i64 = 1;
    let file = File::new("sql-rows");
    let mut database = open(&file.0)?;
    let batch = |base_sequence, records| Produce {
        producer_id: 7,
        producer_epoch: 0,
        base_sequence,
        count: 10,
        timestamp: 1_700_000_000_000,
        records,
    };
    let (first, second, fourth) = (batch(0, "first"), batch(10, "second"), batch(30, "fourth"));

    println!("first batch                  {:?}", append(&mut database, LOG, &first)?);
    println!("the same, sent again         {:?}", append(&mut database, LOG, &first)?);

    let transaction = database.transaction()?;
    println!("second batch, not committed  {:?}", append_within(&transaction, LOG, &second)?);
    drop(transaction);
    drop(database);
    database = open(&file.0)?;
    println!("crash; the log holds         {:?}", read_log(&database, LOG)?);

    println!("second batch, sent again     {:?}", append(&mut database, LOG, &second)?);
    println!("and again                    {:?}", append(&mut database, LOG, &second)?);
    println!("fourth batch, third missing  {:?}", append(&mut database, LOG, &fourth)?);
    println!("the log holds                {:?}", read_log(&database, LOG)?);

    let expired = expire(&mut database, Timestamp::from_millis(first.timestamp))?;
    println!("forgotten after a day        {expired}");
    println!("fourth batch, unknown now    {:?}", append(&mut database, LOG, &fourth)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: i64 = 1;

    fn produce(producer_epoch: i16, base_sequence: i32, count: i32) -> Produce {
        let timestamp = i64::from(base_sequence);
        Produce { producer_id: 7, producer_epoch, base_sequence, count, timestamp, records: "r" }
    }

    fn database() -> Connection {
        open(Path::new(":memory:")).unwrap()
    }

    #[test]
    fn the_last_five_batches_are_known_and_an_older_one_is_out_of_order() {
        let mut database = database();
        for number in 0..7 {
            let written = append(&mut database, LOG, &produce(0, 3 * number, 3)).unwrap();
            assert_eq!(written, Answer::Written { base_offset: i64::from(3 * number) });
        }
        for number in 2..7 {
            let again = append(&mut database, LOG, &produce(0, 3 * number, 3)).unwrap();
            assert_eq!(again, Answer::WrittenBefore { base_offset: i64::from(3 * number) });
        }
        let old = append(&mut database, LOG, &produce(0, 3, 3)).unwrap();
        assert!(matches!(old, Answer::Refused(AppendError::OutOfOrder { last_sequence: 20, .. })));
        assert_eq!(read_log(&database, LOG).unwrap().len(), 7);
    }

    #[test]
    fn a_higher_epoch_fences_and_forgets_the_batches_of_the_lower_one() {
        let mut database = database();
        append(&mut database, LOG, &produce(0, 0, 3)).unwrap();
        append(&mut database, LOG, &produce(1, 0, 1)).unwrap();
        let fenced = append(&mut database, LOG, &produce(0, 0, 3)).unwrap();
        assert!(matches!(fenced, Answer::Refused(AppendError::StaleEpoch { current: 1, .. })));
        assert_eq!(read_producer(&database, LOG, 7).unwrap().window().len(), 1);
    }

    #[test]
    fn logs_know_nothing_of_one_another() {
        let mut database = database();
        append(&mut database, LOG, &produce(0, 0, 3)).unwrap();
        let other = append(&mut database, LOG + 1, &produce(0, 0, 3)).unwrap();
        assert_eq!(other, Answer::Written { base_offset: 0 });
    }

    #[test]
    fn what_was_not_committed_is_written_when_it_is_sent_again() {
        let file = File::new("crash");
        let mut database = open(&file.0).unwrap();
        append(&mut database, LOG, &produce(0, 0, 3)).unwrap();
        let transaction = database.transaction().unwrap();
        let lost = append_within(&transaction, LOG, &produce(0, 3, 2)).unwrap();
        assert_eq!(lost, Answer::Written { base_offset: 3 });
        drop(transaction);
        drop(database);

        let mut database = open(&file.0).unwrap();
        assert_eq!(read_log(&database, LOG).unwrap(), [(0, 2, "r".to_owned())]);
        let again = append(&mut database, LOG, &produce(0, 3, 2)).unwrap();
        assert_eq!(again, Answer::Written { base_offset: 3 });
        let known = append(&mut database, LOG, &produce(0, 0, 3)).unwrap();
        assert_eq!(known, Answer::WrittenBefore { base_offset: 0 });
    }

    #[test]
    fn only_producers_that_are_old_expire() {
        let mut database = database();
        append(&mut database, LOG, &produce(0, 0, 3)).unwrap();
        assert_eq!(expire(&mut database, Timestamp::from_millis(-1)).unwrap(), 0);
        assert_eq!(expire(&mut database, Timestamp::from_millis(0)).unwrap(), 1);
        assert_eq!(read_producer(&database, LOG, 7).unwrap(), ProducerEntry::UNKNOWN);
    }
}
