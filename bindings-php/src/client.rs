//! `Quotalock\Client`.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;

use crate::argument::{Int, Maybe, Text};
use crate::class;
use crate::exception::Outcome;
use crate::limiter::Limiter;
use crate::policy::PolicyArgument;
use crate::property::{self, Property, Type};
use crate::registry::{self, Handle};
use crate::settings::{Arguments, Settings};

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("server", Type::Text), ("prefix", Type::Text)];

/// A client; objects with the same settings share connections, also with later requests of this process.
#[php_class]
#[php(name = "Quotalock\\Client")]
pub struct Client(Rc<Handle>);

impl Client {
    /// What this object holds of the shared client.
    pub fn handle(&self) -> &Handle {
        &self.0
    }
}

#[php_impl]
impl Client {
    /// Makes a client. Does no I/O.
    pub fn __construct(
        url: Maybe<Text>,
        prefix: Maybe<Text>,
        timeoutMs: Maybe<Int>,
        onError: Maybe<Text>,
    ) -> Outcome<Client> {
        let given = Arguments {
            url: url.0.map(|text| text.utf8(1, "url")).transpose()?,
            prefix: prefix.0.map(|text| text.utf8(2, "prefix")).transpose()?,
            timeout_ms: timeoutMs.0.map(|number| number.get(3)).transpose()?.map(|ms| ms.to_string().into()),
            on_error: onError.0.map(|text| text.utf8(4, "on_error")).transpose()?,
        };
        let shared = registry::client(&Settings::of(given))?;
        class::fill_this([property::text(&shared.server), property::text(&shared.prefix)]);
        Ok(Client(Handle::new(shared)))
    }

    /// Makes a limiter.
    pub fn limiter(&self, name: Text, policy: PolicyArgument) -> Outcome<ZBox<ZendClassObject<Limiter>>> {
        let name = name.utf8(1, "name")?;
        let limiter = self.0.shared()?.limiters.limiter(&name, &policy.text(2)?)?;
        Ok(Limiter::object(limiter, self.0.clone()))
    }

    /// Closes this object and its limiters.
    pub fn close(&self) {
        self.0.close();
    }
}
