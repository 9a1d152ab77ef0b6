//! Answers of caches and of `once`.
//!
//! | kind | numbers |
//! |---|---|
//! | `CLAIMED` | whether it is the first, whether a function runs, the milliseconds left, its age, a value |
//! | `SEEN` | 0; or 1, whether it is stale, its age in milliseconds, a value |
//! | `GOT` | one part |
//! | `PARTS` | a part for each key |
//!
//! A value is the number of a text, -1 for none. A part is three numbers: what it is, and two more.
//!
//! | part | then |
//! |---|---|
//! | 0 | a value |
//! | 1 | the number of a ticket |
//! | 2 | the index of an error's code, and the number of its text |
//! | 3 | the number of a wait |

use std::sync::Arc;

use quotalock::{Claimed, Got, Part, Result, Seen, convert};

use super::{Answers, CLAIMED, PARTS, SEEN, flag};

const FOUND: f64 = 0.0;
const LOAD: f64 = 1.0;
const FAILED: f64 = 2.0;
const WAITS: f64 = 3.0;

impl Answers {
    /// Writes down what is to be done about several keys.
    pub fn push_parts(&mut self, id: u64, parts: Result<Vec<Part>>) {
        self.write(id, |answers| {
            let parts = parts?;
            answers.numbers.push(f64::from(PARTS));
            parts.into_iter().for_each(|part| answers.part(part));
            Ok(())
        });
    }

    pub(super) fn claimed(&mut self, claimed: &Claimed) {
        let Claimed { first, running, left, age, ref value } = *claimed;
        let value = self.value(value.as_ref());
        let (left, age) = (convert::ms(left) as f64, convert::ms(age) as f64);
        self.numbers.extend([f64::from(CLAIMED), flag(first), flag(running), left, age, value]);
    }

    pub(super) fn seen(&mut self, seen: Option<&Seen>) {
        match seen {
            Some(Seen { value, stale, age }) => {
                let value = self.value(value.as_ref());
                self.numbers.extend([f64::from(SEEN), 1.0, flag(*stale), convert::ms(*age) as f64, value]);
            }
            None => self.numbers.extend([f64::from(SEEN), 0.0]),
        }
    }

    pub(super) fn got(&mut self, got: &Got) {
        match got {
            Got::Found(seen) => {
                let value = self.value(seen.value.as_ref());
                self.numbers.extend([FOUND, value, 0.0]);
            }
            Got::Load(ticket) => {
                self.tickets.push(ticket.clone());
                self.numbers.extend([LOAD, (self.tickets.len() - 1) as f64, 0.0]);
            }
        }
    }

    fn part(&mut self, part: Part) {
        match part {
            Part::Got(got) => self.got(&got),
            Part::Failed(error) => {
                let start = self.numbers.len();
                self.error(&error);
                self.numbers[start] = FAILED;
            }
            Part::Waits(getting) => {
                self.waits.push(Some(getting));
                self.numbers.extend([WAITS, (self.waits.len() - 1) as f64, 0.0]);
            }
        }
    }

    fn value(&mut self, value: Option<&Arc<Vec<u8>>>) -> f64 {
        value.map_or(-1.0, |value| self.shared(value.clone()))
    }
}
