use super::super::HEADER;
use super::*;
use wire::call::space::{Object, Planted};

const NOW: u64 = 1_700_000_000_000_000;

/// Values of these sizes, one at each key.
struct Values(Vec<(Vec<u8>, Vec<u8>)>);

impl Values {
    fn new(sizes: &[usize]) -> Values {
        let value = |size: &usize| {
            let mut entry = CacheEntry::default();
            entry.become_new(EntryKind::Value, (60_000_000, 0), *size, NOW);
            [super::super::entry::encode(&entry), vec![b'x'; *size]].concat()
        };
        Values(sizes.iter().enumerate().map(|(at, size)| (vec![at as u8], value(size))).collect())
    }
}

impl Space for Values {
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_slice()))
    }

    fn range(&self, key: &[u8], from: u64, length: u64) -> &[u8] {
        let value = self.get(key).ok().flatten().unwrap_or_default();
        &value[(from as usize).min(value.len())..((from + length) as usize).min(value.len())]
    }

    fn set_range(&mut self, _: &[u8], _: u64, _: &[u8], _: u64) {}

    fn set(&mut self, _: &[u8], _: Vec<u8>, _: u64) {}

    fn object(&mut self, _: &[u8]) -> Result<Option<&mut Object>> {
        Ok(None)
    }

    fn set_object(&mut self, _: &[u8], _: Box<Object>, _: u64) {}

    fn set_ttl(&mut self, _: &[u8], _: u64) {}

    fn delete(&mut self, _: &[u8]) -> bool {
        false
    }

    fn plant(&mut self, _: &[u8], _: Planted) {}

    fn ttl(&self, _: &[u8]) -> i64 {
        -2
    }
}

/// How many entries each call of a look tells of.
fn told(sizes: &[usize]) -> Vec<usize> {
    let mut values = Values::new(sizes);
    let entries = (0..sizes.len()).map(|at| [vec![at as u8], vec![at as u8, b'w']]).collect();
    let mut look = Look {
        entries,
        id: [1; 16],
        ttl: 0,
        channel: None,
        luck: Vec::new(),
        load_when_away: false,
        value_only: false,
        shown: "it".into(),
        feature: Feature::Cache,
        progress: LookProgress::default(),
    };
    let mut told = Vec::new();
    loop {
        let mut reply = look.twin(&mut values, NOW).unwrap();
        let payloads =
            reply.iter().filter_map(|field| if let Reply::Bytes(it) = field { Some(it.len()) } else { None });
        let (count, bytes) = (payloads.clone().count(), payloads.sum::<usize>());
        assert!(count == 1 || bytes <= MOST_BYTES as usize);
        assert!(bytes + reply.len() * 32 <= look.reply_limit().bytes && reply.len() <= look.reply_limit().items + 1);
        told.push(count);
        let answer = look.decode(&mut reply[2..], Source::Redis.into()).unwrap();
        if let Some(whole) = look.gather(answer).unwrap() {
            let whole: Vec<Looked> = whole.take().unwrap();
            let size = |looked: &Looked| match looked {
                Looked::Seen(Seen { value: Some(value), .. }) => value.len(),
                other => panic!("{other:?}"),
            };
            assert_eq!(whole.iter().map(size).collect::<Vec<_>>(), sizes);
            return told;
        }
    }
}

#[test]
fn a_call_tells_of_no_more_than_others_can_wait_for() {
    assert_eq!(HEADER + 1, Values::new(&[1]).0[0].1.len());
    let half = MOST_BYTES as usize / 2;
    assert_eq!(told(&[half, half, half, half]), [2, 2]);
    assert_eq!(told(&[half, half, 0, 0, 1]), [4, 1]);
    assert_eq!(told(&[half, half + 1, half]), [1, 1, 1]);
    assert_eq!(told(&[5 * half, 5 * half, 0]), [1, 1, 1]);
    assert_eq!(told(&[0, 5 * half, 0]), [1, 1, 1]);
    // Where few were told of, few are asked for.
    assert_eq!(told(&[&[2 * half][..], &[1; 20]].concat()), [1, 2, 4, 8, 6]);
    assert_eq!(told(&[1; 250]), [250]);
    assert_eq!(told(&[1; 251]), [250, 1]);
}

#[test]
fn a_reply_about_more_or_less_than_was_asked_for_is_none() {
    let look = |count: usize| Look {
        entries: (0..count).map(|at| [vec![at as u8], vec![]]).collect(),
        id: [1; 16],
        ttl: 0,
        channel: None,
        luck: Vec::new(),
        load_when_away: false,
        value_only: false,
        shown: "it".into(),
        feature: Feature::Cache,
        progress: LookProgress::default(),
    };
    let fields = |count: usize| {
        let one = || (0..6).map(|_| Reply::Int(0)).chain([Reply::Bytes(Vec::new())]);
        (0..count).flat_map(|_| one()).collect::<Vec<_>>()
    };
    assert!(look(2).decode(&mut fields(2), Source::Redis.into()).is_ok());
    assert!(look(2).decode(&mut fields(1), Source::Redis.into()).is_ok());
    assert!(look(2).decode(&mut fields(3), Source::Redis.into()).is_err());
    assert!(look(2).decode(&mut fields(0), Source::Redis.into()).is_err());
    assert!(look(2).decode(&mut fields(2)[..13], Source::Redis.into()).is_err());
}
