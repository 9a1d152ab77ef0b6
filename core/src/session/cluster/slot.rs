//! Which of a cluster's slots a key lies in: the same in every cluster, for ever.

/// How many there are.
pub(crate) const SLOTS: u16 = 16_384;

/// CRC16 as XMODEM has it: polynomial 0x1021, from 0.
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut crc, mut bit) = ((at as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

/// The slot of a key: of what stands between its first `{` and the next `}`, if there is anything, else of all of it.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let tag = || {
        let from = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key[from..].iter().position(|byte| *byte == b'}').filter(|length| *length > 0)?;
        Some(&key[from..from + length])
    };
    let hashed = tag().unwrap_or(key);
    hashed.iter().fold(0, |crc: u16, byte| crc << 8 ^ TABLE[usize::from(crc >> 8 ^ u16::from(*byte))]) % SLOTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::cluster_routing::Slot;

    use super::*;

    #[test]
    fn the_slots_of_the_documentation() {
        // From the specification of Redis Cluster.
        assert_eq!(TABLE.len(), 256);
        assert_eq!(slot_of(b"123456789"), 0x31C3 % SLOTS);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"{user1000}.followers"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
    }

    proptest! {
        #[test]
        fn another_client_puts_a_key_into_the_same_slot(key in "[a-c{}]{0,12}|\\PC{0,20}") {
            // It tells its number to nobody but by comparison.
            prop_assert!(Some(Slot::for_key(&key)) == Slot::new(slot_of(key.as_bytes())), "{key:?}");
        }
    }
}
