//! SipHash with 128 bits: what it makes of a key tells nothing of the key, and nobody without the seed can aim at a place.

/// The hash of `data` under a key; 1 and 3 rounds, as hash tables use it.
pub(crate) fn hash(key: [u64; 2], data: &[u8]) -> [u64; 2] {
    sip::<1, 3>(key, data)
}

/// Half of it, for tables of one process.
pub(crate) fn half(key: [u64; 2], data: &[u8]) -> u64 {
    sip::<1, 3>(key, data)[0]
}

#[inline(always)]
fn sip<const ROUNDS: usize, const LAST: usize>(key: [u64; 2], data: &[u8]) -> [u64; 2] {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let mut take = |word: u64| {
        v[3] ^= word;
        (0..ROUNDS).for_each(|_| round(&mut v));
        v[0] ^= word;
    };
    let (words, rest) = data.as_chunks::<8>();
    words.iter().for_each(|word| take(u64::from_le_bytes(*word)));
    take(low_bytes(rest) | (data.len() as u64) << 56);
    let mut end = |at: usize, mark: u64| {
        v[at] ^= mark;
        (0..LAST).for_each(|_| round(&mut v));
        v[0] ^ v[1] ^ v[2] ^ v[3]
    };
    [end(2, 0xee), end(1, 0xdd)]
}

/// Up to seven bytes as the low ones of a word.
#[inline(always)]
fn low_bytes(mut bytes: &[u8]) -> u64 {
    let (mut word, mut bits) = (0, 0);
    if let Some((four, rest)) = bytes.split_first_chunk() {
        (word, bits, bytes) = (u64::from(u32::from_le_bytes(*four)), 32, rest);
    }
    for byte in bytes {
        word |= u64::from(*byte) << bits;
        bits += 8;
    }
    word
}

#[inline(always)]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authors_vectors_hold() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let bytes: Vec<u8> = (0..64).collect();
        let text = |of: [u64; 2]| -> String {
            of.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(text(sip::<2, 4>(key, b"")), "a3817f04ba25a8e66df67214c7550293");
        assert_eq!(text(sip::<2, 4>(key, &bytes[..1])), "da87c1d86b99af44347659119b22fc45");
        assert_eq!(text(sip::<2, 4>(key, &bytes[..3])), "9c70b60c5267a94e5f33b6b02985ed51");
        assert_eq!(text(sip::<2, 4>(key, &bytes[..15])), "5493e99933b0a8117e08ec0f97cfc3d9");
        assert_eq!(text(sip::<2, 4>(key, &bytes[..63])), "5150d1772f50834a503e069a973fbd7c");
        assert!((0..64).all(|length| half(key, &bytes[..length]) == hash(key, &bytes[..length])[0]));
        assert_ne!(hash(key, &bytes[..8]), hash(key, &bytes[..9]));
        assert_ne!(hash(key, b"x"), hash([key[0] ^ 1, key[1]], b"x"));
    }
}
