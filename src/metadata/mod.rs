//! What the host knows of the cluster, handed to the machines as arguments.
//!
//! Two traits say what the machines ask, so that a host can answer from metadata that it keeps in its own way:
//! [`TopicNames`] maps ids to names, and [`MetadataImage`] gives topics with their partitions and brokers with their
//! racks as of one offset of the metadata log. Both are borrowed for the length of a call and never stored.
//!
//! [`ClusterImage`] is an image for hosts that have none. It is a persistent value: a clone is O(1) and keeps its
//! answers while [`ImageDelta`]s change the original, so any number of readers may each hold the image that they
//! started with. What a delta did comes back as [`ImageChanges`].
//!
//! ```
//! use kafka_coordination::TopicId;
//! use kafka_coordination::metadata::{ClusterImage, ImageDelta, MetadataImage};
//!
//! let orders = TopicId::from_u128(7);
//! let mut delta = ImageDelta::new(1);
//! delta
//!     .register_broker(1, Some("north"))
//!     .create_topic(orders, "orders")
//!     .add_partition(orders, 0, &[1]);
//! let mut image = ClusterImage::new();
//! let changes = image.apply(&delta)?;
//! assert_eq!(changes.created()[0].name.as_str(), "orders");
//!
//! let topic = image.topic_by_name("orders").expect("it was created");
//! let replicas = topic.replicas(0).expect("it has one partition");
//! assert_eq!(image.rack(replicas[0]), Some("north"));
//! # Ok::<(), kafka_coordination::metadata::ImageError>(())
//! ```

mod changes;
mod cluster;
mod delta;
mod error;
mod image;
mod names;

pub use changes::{ChangedTopic, ImageChanges};
pub use cluster::ClusterImage;
pub use delta::ImageDelta;
pub use error::ImageError;
pub use image::{MetadataImage, Partitions, TopicView};
pub use names::TopicNames;
