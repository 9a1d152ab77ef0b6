//! Which of a cluster's slots a key lies in: the same in every cluster, for ever.

/// How many there are.
pub(crate) const SLOTS: u16 = 16_384;

/// How many hexadecimal digits put a name into any slot.
const DIGITS: usize = 5;

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
pub fn slot_of(key: &[u8]) -> u16 {
    let tag = || {
        let from = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key[from..].iter().position(|byte| *byte == b'}').filter(|length| *length > 0)?;
        Some(&key[from..from + length])
    };
    sum(0, tag().unwrap_or(key)) % SLOTS
}

fn sum(from: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(from, |crc, byte| crc << 8 ^ TABLE[usize::from(crc >> 8 ^ u16::from(*byte))])
}

/// Changes the last letters of a name, which has no braces and so many letters at least, to digits that put it into a slot:
/// whatever stands before them, some do.
pub(crate) fn put_into(slot: u16, prefix: &[u8], name: &mut [u8]) {
    let Some(at) = name.len().checked_sub(DIGITS) else { return };
    let (head, digits) = name.split_at_mut(at);
    let begun = sum(sum(0, prefix), head);
    for number in 0..1_u32 << (4 * DIGITS) {
        for (place, digit) in digits.iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(number >> (4 * place)) as usize & 15];
        }
        if sum(begun, digits) % SLOTS == slot {
            return;
        }
    }
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

    #[test]
    fn five_digits_put_a_name_into_every_slot() {
        put_into_slots(0..SLOTS);
    }

    #[test]
    fn five_digits_put_a_name_into_some_slots() {
        put_into_slots((0..SLOTS).step_by(1_499));
    }

    fn put_into_slots(slots: impl Iterator<Item = u16>) {
        for (slot, prefix) in slots.zip([b"ql:wake:".as_slice(), b"", "ä:wake:".as_bytes()].into_iter().cycle()) {
            let mut name = *b"s0123456789xxxxx";
            put_into(slot, prefix, &mut name);
            assert_eq!(slot_of(&[prefix, &name].concat()), slot);
            assert!(name.starts_with(b"s0123456789") && name[11..].iter().all(u8::is_ascii_hexdigit));
        }
    }

    proptest! {
        #[test]
        fn another_client_puts_a_key_into_the_same_slot(key in "[a-c{}]{0,12}|\\PC{0,20}") {
            // It tells its number to nobody but by comparison.
            prop_assert!(Some(Slot::for_key(&key)) == Slot::new(slot_of(key.as_bytes())), "{key:?}");
        }
    }
}
