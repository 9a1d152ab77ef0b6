//! SipHash-1-3 with 128 bits, as hash tables use it: what it makes of a key tells nothing of the key, and nobody without the
//! seed can aim at a place.

use siphasher::sip128::SipHasher13;

/// The hash of `data` under a key.
#[inline]
pub fn hash(key: [u64; 2], data: &[u8]) -> [u64; 2] {
    let (first, second) = SipHasher13::new_with_keys(key[0], key[1]).hash(data).as_u64();
    [first, second]
}

/// Half of it, for tables of one process.
#[inline]
pub fn half(key: [u64; 2], data: &[u8]) -> u64 {
    hash(key, data)[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by the authors' definition; files of remembered denials depend on it.
    #[test]
    fn it_is_the_same_for_every_process() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(hash(key, &bytes), [0x6c52_bdb2_0555_7ec1, 0x0901_7e1e_eccd_2129]);
        assert_eq!(half(key, &bytes), 0x6c52_bdb2_0555_7ec1);
    }
}
