//! The functions that make handles of locks: [`crate::lock_makers`] has their parameters.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::types::ZendClassObject;
use quotalock::{LockOptions, convert};

use crate::argument::{Clients, Int, Names, Text};
use crate::exception::Outcome;
use crate::lock::Lock;
use crate::registry::Handle;

/// The PHP object of a lock.
pub type Made = Outcome<ZBox<ZendClassObject<Lock>>>;

/// The options of a lock, and how many microseconds to wait.
pub type Read = Outcome<(LockOptions, u64)>;

/// The options of a lock that is not renewed: there is no thread of ours in a process of PHP.
pub fn base() -> LockOptions {
    LockOptions { renew: false, ..LockOptions::default() }
}

/// Makes a handle for a mutex.
pub fn lock(client: &Rc<Handle>, name: Text, given: impl FnOnce() -> Read) -> Made {
    made(client, given, |core, options| Ok(core.lock(&name.bytes(1)?, options)?))
}

/// Makes a handle for several mutexes that are granted all or none.
pub fn lock_all(client: &Rc<Handle>, names: Names, given: impl FnOnce() -> Read) -> Made {
    made(client, given, |core, options| {
        let names = names.get(1)?;
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        Ok(core.lock_all(&names, options)?)
    })
}

/// Makes a handle for `weight` of a semaphore's `permits`.
pub fn semaphore(client: &Rc<Handle>, name: Text, permits: Int, weight: Int, given: impl FnOnce() -> Read) -> Made {
    made(client, given, |core, options| {
        let (permits, weight) = (permits.unsigned(2, "permits")?, weight.unsigned(3, "weight")?);
        Ok(core.semaphore(&name.bytes(1)?, permits, weight, options)?)
    })
}

/// Makes a handle for the reading side of a read-write lock.
pub fn read_lock(client: &Rc<Handle>, name: Text, given: impl FnOnce() -> Read) -> Made {
    made(client, given, |core, options| Ok(core.read_lock(&name.bytes(1)?, options)?))
}

/// Makes a handle for the writing side of a read-write lock.
pub fn write_lock(client: &Rc<Handle>, name: Text, given: impl FnOnce() -> Read) -> Made {
    made(client, given, |core, options| Ok(core.write_lock(&name.bytes(1)?, options)?))
}

/// Makes a handle for a mutex over several independent servers, one for each client.
pub fn quorum_lock(clients: Clients, name: Text, given: impl FnOnce() -> Read) -> Made {
    // An `exit` in a `__toString` jumps over what is held here: texts come first.
    let (name, (options, wait)) = (name.bytes(2)?, given()?);
    let handles = clients.get(1)?;
    let core = |handle: &Rc<Handle>| Ok(handle.shared()?.core().clone());
    let cores = handles.iter().map(core).collect::<quotalock::Result<Vec<_>>>()?;
    let lock = quotalock::Lock::quorum(&cores, &name, options)?;
    Ok(Lock::object(lock, convert::duration(wait), handles))
}

fn made(
    client: &Rc<Handle>,
    given: impl FnOnce() -> Read,
    make: impl FnOnce(&quotalock::Client, LockOptions) -> Outcome<quotalock::Lock>,
) -> Made {
    let (options, wait) = given()?;
    let lock = make(client.shared()?.core(), options)?;
    Ok(Lock::object(lock, convert::duration(wait), Rc::new([client.clone()])))
}
