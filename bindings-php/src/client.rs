//! `Quotalock\Client`.

use std::borrow::Cow;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;
use quotalock::LimiterOptions;

use crate::argument::{Flag, Int, Key, Maybe, Text};
use crate::call;
use crate::charges::Charges;
use crate::class;
use crate::decision::DecidedTogether;
use crate::exception::Outcome;
use crate::limiter::Limiter;
use crate::policy::PolicyArgument;
use crate::property::{self, Property, Type};
use crate::registry::{self, Handle};
use crate::settings::{Arguments, REQUEST_MEMORY_MS, Settings};

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
    #[php(defaults(requestMemoryMs = REQUEST_MEMORY_MS))]
    pub fn __construct(
        url: Maybe<Text>,
        prefix: Maybe<Text>,
        timeoutMs: Maybe<Int>,
        onError: Maybe<Text>,
        requestMemoryMs: Int,
    ) -> Outcome<Client> {
        let given = Arguments {
            url: url.0.map(|text| text.utf8(1, "url")).transpose()?,
            prefix: prefix.0.map(|text| text.utf8(2, "prefix")).transpose()?,
            timeout_ms: timeoutMs.0.map(|number| number.get(3)).transpose()?.map(|ms| ms.to_string().into()),
            on_error: onError.0.map(|text| text.utf8(4, "on_error")).transpose()?,
            request_memory_ms: Some(requestMemoryMs.get(5)?),
        };
        let shared = registry::client(&Settings::of(given))?;
        class::fill_this([property::text(&shared.server), property::text(&shared.prefix)]);
        Ok(Client(Handle::new(shared)))
    }

    /// Makes a limiter.
    #[php(defaults(enforce = true))]
    pub fn limiter(
        &self,
        name: Text,
        policy: PolicyArgument,
        scope: Maybe<Key>,
        enforce: Flag,
    ) -> Outcome<ZBox<ZendClassObject<Limiter>>> {
        let (name, scope, enforce) = (name.utf8(1, "name")?, scope.bytes(3)?, enforce.get(4)?);
        let options = LimiterOptions { scope: scope.map(Cow::into_owned), enforce };
        let limiter = self.0.shared()?.limiters.limiter_with(&name, &policy.text(2)?, options)?;
        Ok(Limiter::object(limiter, self.0.clone()))
    }

    /// Charges several keys, each by its own limiter, if all of them admit it, else none.
    pub fn consume_all(&self, charges: Charges, requestId: Maybe<Key>) -> Outcome<DecidedTogether> {
        let op = {
            let (id, keys) = (requestId.bytes(2)?, charges.keys()?);
            charges.op(&keys, self.0.shared()?.limiters.client(), id.as_deref())?
        };
        call::run(op).map(DecidedTogether)
    }

    /// Closes this object and its limiters.
    pub fn close(&self) {
        self.0.close();
    }
}
