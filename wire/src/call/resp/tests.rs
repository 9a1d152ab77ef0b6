//! The `redis` crate's parser as the second opinion, and replies in pieces of every size.

use proptest::prelude::*;

use super::{MAX_LINE, Parser, Reply, ReplyLimit};

fn value() -> impl Strategy<Value = Reply> {
    let leaf = prop_oneof![
        Just(Reply::Nil),
        any::<i64>().prop_map(Reply::Int),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Reply::Bytes),
        "[A-Z]{2,9} [ -~]{1,30}".prop_map(Reply::Error),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| prop::collection::vec(inner, 0..6).prop_map(Reply::Array))
}

fn encode(value: &Reply, out: &mut Vec<u8>) {
    match value {
        Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
        Reply::Int(n) => out.extend_from_slice(format!(":{n}\r\n").as_bytes()),
        Reply::Bytes(bytes) => super::part(out, bytes),
        Reply::Error(text) => out.extend_from_slice(format!("-{text}\r\n").as_bytes()),
        Reply::Array(items) => {
            super::begin(out, items.len());
            items.iter().for_each(|item| encode(item, out));
        }
    }
}

fn of_the_crate(value: redis::Value) -> Option<Reply> {
    Some(match value {
        redis::Value::Nil => Reply::Nil,
        redis::Value::Int(n) => Reply::Int(n),
        redis::Value::BulkString(bytes) => Reply::Bytes(bytes),
        redis::Value::SimpleString(text) => Reply::Bytes(text.into_bytes()),
        redis::Value::Okay => Reply::Bytes(b"OK".to_vec()),
        redis::Value::Array(items) => Reply::Array(items.into_iter().map(of_the_crate).collect::<Option<_>>()?),
        // The crate takes errors apart; that they are one is enough.
        redis::Value::ServerError(_) => Reply::Error(String::new()),
        _ => return None,
    })
}

fn without_error_texts(value: Reply) -> Reply {
    match value {
        Reply::Error(_) => Reply::Error(String::new()),
        Reply::Array(items) => Reply::Array(items.into_iter().map(without_error_texts).collect()),
        other => other,
    }
}

proptest! {
    #[test]
    fn reads_what_the_redis_crate_reads(value in value()) {
        let mut wire = Vec::new();
        encode(&value, &mut wire);
        let mut parser = Parser::default();
        parser.feed(&wire);
        let ours = parser.next_reply(ReplyLimit::SMALL).unwrap().unwrap();
        prop_assert_eq!(&ours, &value);
        let theirs = of_the_crate(redis::parse_redis_value(&wire).unwrap());
        prop_assert_eq!(Some(without_error_texts(ours)), theirs);
    }

    #[test]
    fn pieces_make_no_difference(values in prop::collection::vec(value(), 1..6), piece in 1_usize..20) {
        let mut wire = Vec::new();
        values.iter().for_each(|value| encode(value, &mut wire));
        let mut parser = Parser::default();
        let mut read = Vec::new();
        for bytes in wire.chunks(piece) {
            parser.feed(bytes);
            while let Some(value) = parser.next_reply(ReplyLimit::SMALL).unwrap() {
                read.push(value);
            }
        }
        prop_assert_eq!(read, values);
    }

    #[test]
    fn nothing_makes_it_panic(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut parser = Parser::default();
        parser.feed(&noise);
        while let Ok(Some(_)) = parser.next_reply(ReplyLimit::SMALL) {}
    }

    #[test]
    fn almost_redis_does_not_make_it_panic(noise in "[*$:+\\-0-9\r\nA-Z ]{0,60}") {
        let mut parser = Parser::default();
        parser.feed(noise.as_bytes());
        while let Ok(Some(_)) = parser.next_reply(ReplyLimit::SMALL) {}
    }
}

#[test]
fn strangers_are_told_by_their_first_words() {
    let mut parser = Parser::default();
    parser.feed(b"HTTP/1.1 400 Bad Request\r\n");
    assert!(parser.next_reply(ReplyLimit::SMALL).unwrap_err().found.starts_with("HTTP/1.1 400"));
}

/// Feeds a peer's word again and again until the parser has had enough, and tells how many bytes that took and how much
/// memory it had then.
fn fed_up(limit: ReplyLimit, first: &[u8], again: &[u8]) -> (usize, usize) {
    let mut parser = Parser::default();
    let (mut sent, mut held) = (0, 0);
    for bytes in std::iter::once(first).chain(std::iter::repeat(again)) {
        parser.feed(bytes);
        sent += bytes.len();
        let ended = parser.next_reply(limit);
        let values: usize = parser.open.iter().map(|array| array.items.capacity() * size_of::<Reply>()).sum();
        held = held.max(parser.buffer.capacity() + values);
        if ended.is_err() {
            break;
        }
        assert!(ended.unwrap().is_none() && sent < 64 << 20, "it is never enough");
    }
    (sent, held)
}

#[test]
fn an_array_is_read_once_however_many_pieces_it_comes_in() {
    let items = 1_000_000;
    let limit = ReplyLimit { bytes: 4 << 20, items };
    let mut parser = Parser::default();
    parser.feed(format!("*{items}\r\n").as_bytes());
    let began = std::time::Instant::now();
    // Read anew at each piece, this takes half an hour.
    for _ in 0..items / 10 {
        assert_eq!(parser.next_reply(limit), Ok(None));
        parser.feed(&b":1\r\n".repeat(10));
    }
    let Ok(Some(Reply::Array(read))) = parser.next_reply(limit) else { panic!("it is whole") };
    assert_eq!(read.len(), items);
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn what_is_longer_than_the_answer_can_be_is_refused_when_it_says_so() {
    let limit = ReplyLimit::SMALL;
    for header in [
        "$536870912\r\n",
        "$163841\r\n",
        "*1048576\r\n",
        "*6145\r\n",
        "*3\r\n:1\r\n$163840\r\n",
        "*2\r\n*3000\r\n*1\r\n*6144\r\n",
        "$-2\r\n",
        "*-2\r\n",
        "$99999999999999999999\r\n",
        "*1\r\n".repeat(9).as_str(),
    ] {
        let mut parser = Parser::default();
        parser.feed(header.as_bytes());
        assert!(parser.next_reply(limit).is_err(), "{header:?}");
        assert!(parser.buffer.capacity() < 4_096);
    }
    let value = vec![b'x'; 100_000];
    let mut wire = Vec::new();
    super::part(&mut wire, &value);
    for (limit, is_read) in
        [(ReplyLimit::SMALL, true), (ReplyLimit::TINY, false), (ReplyLimit { bytes: 100_011, items: 0 }, true)]
    {
        let mut parser = Parser::default();
        parser.feed(&wire);
        assert_eq!(parser.next_reply(limit).is_ok(), is_read, "{limit:?}");
    }
}

#[test]
fn what_never_ends_is_given_up_within_its_bounds() {
    let half = ReplyLimit { bytes: 64 << 10, items: 1_000_000 };
    for (first, again) in [
        (&b"-ERR "[..], &b"x"[..]),
        (b"+", b"yyyyyyyy"),
        (b":", b"1"),
        (b"$", b"0"),
        (b"*1000000\r\n", b":1\r\n"),
        (b"*1000000\r\n", b"$0\r\n\r\n"),
        (b"*1000000\r\n", b"*1\r\n:1\r\n"),
        (b"*1000000\r\n", b"+yes\r\n"),
    ] {
        let (sent, held) = fed_up(half, first, again);
        assert!(sent <= half.bytes.max(MAX_LINE) + 64, "{sent} bytes of {again:?}");
        assert!(held <= 1 << 20, "{held} bytes of memory for {again:?}");
    }
}

#[test]
fn a_value_is_shown_short() {
    let long = Reply::Array(vec![Reply::Bytes(vec![0; 1 << 20]); 1_000]);
    let shown = format!("{long:?}");
    assert!(shown.len() < 4_096 && shown.ends_with("and 992 more]"), "{shown}");
}

#[test]
fn numbers_are_parts_in_decimal() {
    let mut out = Vec::new();
    super::number_part(&mut out, 42);
    super::negative_part(&mut out, 42);
    super::long_part(&mut out, &[b"ab", b"", b"c"]);
    assert_eq!(out, b"$2\r\n42\r\n$3\r\n-42\r\n$3\r\nabc\r\n");
}

#[test]
fn a_buffer_that_grew_large_is_given_back() {
    for (capacity, is_kept) in [(super::KEPT, true), (super::KEPT + 1, false)] {
        let mut buffer = Vec::with_capacity(capacity);
        buffer.push(0);
        super::recycle(&mut buffer);
        assert_eq!((buffer.len(), buffer.capacity() > 0), (0, is_kept));
    }
}

#[test]
fn a_parser_is_empty_between_replies() {
    let mut parser = Parser::default();
    let is_empty_after = [&b":1\r"[..], b"\n", b"*1\r\n", b":1\r\n"].map(|piece| {
        parser.feed(piece);
        _ = parser.next_reply(ReplyLimit::SMALL).unwrap();
        parser.is_empty()
    });
    assert_eq!(is_empty_after, [false, true, false, true]);
}

#[test]
fn a_line_may_be_as_long_as_lines_are() {
    for (length, is_read) in [(MAX_LINE, true), (MAX_LINE + 1, false)] {
        let mut parser = Parser::default();
        parser.feed(&[b"+", vec![b'x'; length].as_slice(), b"\r\n"].concat());
        assert_eq!(parser.next_reply(ReplyLimit::SMALL).is_ok(), is_read, "{length}");
    }
}

#[test]
fn a_line_of_text_is_a_value() {
    let mut parser = Parser::default();
    parser.feed(b"+OK\r\n");
    assert_eq!(parser.next_reply(ReplyLimit::SMALL), Ok(Some(Reply::Bytes(b"OK".to_vec()))));
}

#[test]
fn what_is_missing_of_a_long_value_is_known_from_its_head() {
    let mut parser = Parser::default();
    parser.feed(b"$100\r\nab");
    assert_eq!(parser.next_reply(ReplyLimit::SMALL), Ok(None));
    assert_eq!(parser.missing(), 100);
    let read = parser.read_from(&mut &[b'x'; 1_000][..]).unwrap();
    assert_eq!((read, parser.missing()), (100, 0));
}

#[test]
fn replies_that_were_taken_make_room() {
    let mut parser = Parser::default();
    parser.feed(&b":1\r\n".repeat(50_000));
    for _ in 0..49_999 {
        assert!(parser.next_reply(ReplyLimit::SMALL).unwrap().is_some());
    }
    parser.feed(b":2\r\n");
    assert!(parser.buffer.len() < 64, "{} bytes", parser.buffer.len());
    let rest = [(), ()].map(|()| parser.next_reply(ReplyLimit::SMALL).unwrap());
    assert_eq!(rest, [Some(Reply::Int(1)), Some(Reply::Int(2))]);
}

#[test]
fn fields_come_as_a_list_or_as_numbers_in_one_text() {
    let text = |numbers: &[i64]| Reply::Bytes(numbers.iter().flat_map(|number| number.to_le_bytes()).collect());
    let ints = |numbers: &[i64]| numbers.iter().copied().map(Reply::Int).collect::<Vec<_>>();
    let numbers = [1, 1 << 52, -1, i64::MIN];
    assert_eq!(text(&numbers).into_fields(), Ok(ints(&numbers)));
    assert_eq!(Reply::Array(ints(&numbers)).into_fields(), Ok(ints(&numbers)));
    let bytes = || Reply::Bytes(b"who".to_vec());
    assert_eq!(Reply::Array(vec![text(&[1, 2]), bytes()]).into_fields(), Ok([ints(&[1, 2]), vec![bytes()]].concat()));
    // Too few, or no whole number of them: a reply of something else.
    for odd in [text(&[]), text(&[1]), Reply::Bytes(vec![0; 17]), Reply::Nil, Reply::Int(1)] {
        assert_eq!(odd.clone().into_fields(), Err(odd));
    }
    assert_eq!(Reply::Array(vec![bytes()]).into_fields(), Ok(vec![bytes()]));
}
