//! The `redis` crate's parser as the second opinion, and replies in pieces of every size.

use proptest::prelude::*;

use super::{Reader, Value};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<i64>().prop_map(Value::Int),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        "[A-Z]{2,9} [ -~]{1,30}".prop_map(Value::Error),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| prop::collection::vec(inner, 0..6).prop_map(Value::Array))
}

fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil => out.extend_from_slice(b"$-1\r\n"),
        Value::Int(n) => out.extend_from_slice(format!(":{n}\r\n").as_bytes()),
        Value::Bytes(bytes) => super::part(out, bytes),
        Value::Error(text) => out.extend_from_slice(format!("-{text}\r\n").as_bytes()),
        Value::Array(items) => {
            super::begin(out, items.len());
            items.iter().for_each(|item| encode(item, out));
        }
    }
}

fn of_the_crate(value: redis::Value) -> Option<Value> {
    Some(match value {
        redis::Value::Nil => Value::Nil,
        redis::Value::Int(n) => Value::Int(n),
        redis::Value::BulkString(bytes) => Value::Bytes(bytes),
        redis::Value::SimpleString(text) => Value::Bytes(text.into_bytes()),
        redis::Value::Okay => Value::Bytes(b"OK".to_vec()),
        redis::Value::Array(items) => Value::Array(items.into_iter().map(of_the_crate).collect::<Option<_>>()?),
        // The crate takes errors apart; that they are one is enough.
        redis::Value::ServerError(_) => Value::Error(String::new()),
        _ => return None,
    })
}

fn without_error_texts(value: Value) -> Value {
    match value {
        Value::Error(_) => Value::Error(String::new()),
        Value::Array(items) => Value::Array(items.into_iter().map(without_error_texts).collect()),
        other => other,
    }
}

proptest! {
    #[test]
    fn reads_what_the_redis_crate_reads(value in value()) {
        let mut wire = Vec::new();
        encode(&value, &mut wire);
        let mut reader = Reader::default();
        reader.feed(&wire);
        let ours = reader.next_reply().unwrap().unwrap();
        prop_assert_eq!(&ours, &value);
        let theirs = of_the_crate(redis::parse_redis_value(&wire).unwrap());
        prop_assert_eq!(Some(without_error_texts(ours)), theirs);
    }

    #[test]
    fn pieces_make_no_difference(values in prop::collection::vec(value(), 1..6), piece in 1_usize..20) {
        let mut wire = Vec::new();
        values.iter().for_each(|value| encode(value, &mut wire));
        let mut reader = Reader::default();
        let mut read = Vec::new();
        for bytes in wire.chunks(piece) {
            reader.feed(bytes);
            while let Some(value) = reader.next_reply().unwrap() {
                read.push(value);
            }
        }
        prop_assert_eq!(read, values);
    }

    #[test]
    fn nothing_makes_it_panic(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut reader = Reader::default();
        reader.feed(&noise);
        while let Ok(Some(_)) = reader.next_reply() {}
    }

    #[test]
    fn almost_redis_does_not_make_it_panic(noise in "[*$:+\\-0-9\r\nA-Z ]{0,60}") {
        let mut reader = Reader::default();
        reader.feed(noise.as_bytes());
        while let Ok(Some(_)) = reader.next_reply() {}
    }
}

#[test]
fn strangers_are_told_by_their_first_words() {
    let mut reader = Reader::default();
    reader.feed(b"HTTP/1.1 400 Bad Request\r\n");
    assert!(reader.next_reply().unwrap_err().found.starts_with("HTTP/1.1 400"));
}
