//! What PHP gets to know when it loads the extension.

use ext_php_rs::prelude::*;

use crate::{
    address, cache, class, client, decision, exception, function, hook, info, ini, inspection, limiter, lock, metrics,
    once, password, request_locks, reservation, rule, seen, stock, stock_answer, testing,
};

/// Registers what does not depend on a request. Makes no client, socket or thread: a preforking server runs this in the
/// parent of its workers.
extern "C" fn start_up(_kind: i32, module: i32) -> i32 {
    quotalock::reports::set_language("php");
    ini::register(module);
    let registered = exception::register()
        .and_then(|()| decision::register())
        .and_then(|()| inspection::register())
        .and_then(|()| stock_answer::register())
        .and_then(|()| seen::register())
        .and_then(|()| class::register::<rule::Rule>(rule::PROPERTIES))
        .and_then(|()| class::register::<reservation::Reservation>(reservation::PROPERTIES))
        .and_then(|()| class::register::<limiter::Limiter>(limiter::PROPERTIES))
        .and_then(|()| class::register::<lock::Lock>(lock::PROPERTIES))
        .and_then(|()| class::register::<stock::Stock>(stock::PROPERTIES))
        .and_then(|()| class::register::<once::Once>(once::PROPERTIES))
        .and_then(|()| class::register::<cache::Cache>(cache::PROPERTIES))
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

/// Releases what the request holds, also after `exit`, a fatal error or the end of its time.
extern "C" fn shut_down_request(_kind: i32, _module: i32) -> i32 {
    // A panic must not get into the engine, and there is nobody left to throw at.
    let _ = std::panic::catch_unwind(|| {
        request_locks::give_back_all();
        password::forget_all();
        hook::forget_all();
    });
    0
}

/// Sends what is not reported yet: of a script the last second, of a pool's worker that of its last requests.
extern "C" fn shut_down(_kind: i32, _module: i32) -> i32 {
    let _ = std::panic::catch_unwind(quotalock::reports::flush);
    0
}

/// The module that PHP loads.
#[php_module]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    let module = module
        .name("ratelimit")
        .startup_function(start_up)
        .shutdown_function(shut_down)
        .request_shutdown_function(shut_down_request)
        .info_function(info::print);
    let functions = function::entries().into_iter().chain([address::entry()]).chain(metrics::entries());
    functions.fold(module, ModuleBuilder::function)
}
