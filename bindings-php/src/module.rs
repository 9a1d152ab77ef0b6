//! What PHP gets to know when it loads the extension.

use ext_php_rs::prelude::*;

use crate::{class, client, decision, exception, function, info, ini, limiter, reservation, rule, testing};

/// Registers what does not depend on a request. Makes no client, socket or thread: a preforking server runs this in the
/// parent of its workers.
extern "C" fn start_up(_kind: i32, module: i32) -> i32 {
    ini::register(module);
    let registered = exception::register()
        .and_then(|()| decision::register())
        .and_then(|()| class::register::<rule::Rule>(rule::PROPERTIES))
        .and_then(|()| class::register::<limiter::Limiter>(limiter::PROPERTIES))
        .and_then(|()| class::register::<reservation::Reservation>(reservation::PROPERTIES))
        .and_then(|()| class::register::<client::Client>(client::PROPERTIES))
        .and_then(|()| class::register::<testing::Testing>(&[]));
    class::describe_functions();
    match registered {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("ratelimit: a class could not be registered: {error}");
            -1
        }
    }
}

/// The module that PHP loads.
#[php_module]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    module.name("ratelimit").startup_function(start_up).info_function(info::print).function(function::entry())
}
