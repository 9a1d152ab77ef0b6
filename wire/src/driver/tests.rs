//! What a loop is told to watch.

use super::*;

fn socket(descriptor: RawFd, connection: u64, writable: bool) -> Socket {
    Socket { descriptor, id: (1, connection), writable }
}

#[test]
fn a_loop_is_told_of_changes_only_and_first_of_what_has_gone() {
    let mut watched = WatchedSockets::default();
    let (read, write) =
        (Change::Watch { descriptor: 5, writing: false }, Change::Watch { descriptor: 5, writing: true });
    let (unread, unwrite) =
        (Change::Leave { descriptor: 5, writing: false }, Change::Leave { descriptor: 5, writing: true });
    let mut told = |sockets: &[Socket]| watched.update(sockets.iter().copied());
    assert_eq!(told(&[socket(5, 1, true)]), [read, write]);
    assert_eq!(told(&[socket(5, 1, true)]), []);
    assert_eq!(told(&[socket(5, 1, false)]), [unwrite]);
    let other = Change::Watch { descriptor: 6, writing: false };
    assert_eq!(told(&[socket(5, 1, false), socket(6, 2, false)]), [other]);
    // The system gave the descriptor of the one to another.
    assert_eq!(told(&[socket(6, 2, false), socket(5, 3, true)]), [unread, read, write]);
    assert_eq!(
        told(&[]),
        [
            Change::Leave { descriptor: 6, writing: false },
            Change::Leave { descriptor: 5, writing: false },
            Change::Leave { descriptor: 5, writing: true },
        ]
    );
}
