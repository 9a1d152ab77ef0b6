//! An argument that is a list of clients.

use std::rc::Rc;

use ext_php_rs::convert::FromZval;
use ext_php_rs::types::{ZendClassObject, Zval};
use quotalock::{Code, Error};

use super::{type_name, wrong_type};
use crate::client::Client;
use crate::exception::Outcome;
use crate::registry::Handles;

parameter! {
    /// A parameter of type `array` that holds clients.
    Clients, Array
}

impl Clients<'_> {
    /// What they hold of the shared clients.
    pub fn get(&self, position: u32) -> Outcome<Handles> {
        let list = self.0.array().ok_or_else(|| wrong_type(position, c"array", self.0))?;
        let client = |(place, value): (usize, &Zval)| {
            let value = value.dereference();
            let wrong = || {
                let message = format!("clients[{place}] is {}: give Quotalock\\Client", type_name(value));
                Error::new(Code::InvalidArgument, message)
            };
            let client = <&ZendClassObject<Client>>::from_zval(value).ok_or_else(wrong)?;
            Ok(Rc::clone(client.handle()))
        };
        list.values().enumerate().map(client).collect()
    }
}
