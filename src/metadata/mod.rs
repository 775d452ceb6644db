//! What the host knows of the cluster, handed to the machines as arguments.

mod names;

pub use names::TopicNames;
