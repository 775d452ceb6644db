//! Fetch requests and responses.
//!
//! A broker hands a decoded request to the cache with [`with_request`], and puts its answer together
//! with [`ResponseBuilder`]; [`error_response`] is for requests that it cannot serve at all. A
//! fetcher makes a request of its plan with [`RequestBuilder`], and hands the answer to its session with
//! [`response_head`] and [`answered_topics`].

mod request;
mod response;
mod versions;

pub use request::{RequestBuilder, Sender, replica_id, with_request};
pub use response::{ResponseBuilder, answered_topics, error_response, response_head};
