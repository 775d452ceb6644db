//! What holds of one replica whatever comes.

use crate::operations::follow;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4096, ..ProptestConfig::default() })]
    #[test]
    fn a_replica_stays_sound_whatever_comes(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
        follow(&bytes);
    }
}
