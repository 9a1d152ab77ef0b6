//! `quotalock.quorum_lock`: a lock over several servers.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::argument::{Label, kind, shown};
use crate::client::Client;
use crate::lock::Lock;
use crate::lock_options::{Given, Maybe};

/// Makes a handle for a mutex over several independent servers, one for each client: held if most of them granted it.
#[pyfunction]
#[pyo3(signature = (clients, name, ttl = None, wait = None, renew = true, max_hold = None, floor = None, label = Label("")),
       text_signature = "(clients, name, ttl=30.0, wait=0.0, renew=True, max_hold=3600.0, floor=0, label='')")]
#[expect(clippy::too_many_arguments)]
pub fn quorum_lock<'py>(
    clients: &Bound<'py, PyAny>,
    name: &Bound<'py, PyAny>,
    ttl: Maybe<'_, 'py>,
    wait: Maybe<'_, 'py>,
    renew: bool,
    max_hold: Maybe<'_, 'py>,
    floor: Maybe<'_, 'py>,
    label: Label<'_>,
) -> PyResult<Lock> {
    let given =
        Given { ttl, wait, fair: false, renew, max_hold, floor, label: label.0, replicas_ack: None, ack_timeout: None };
    Lock::quorum(&read(clients)?, name, given)
}

fn read<'py>(clients: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, Client>>> {
    let advice = "give a list of clients, each of a server of its own";
    let refused = || PyTypeError::new_err(format!("clients {} is {}: {advice}", shown(clients), kind(clients)));
    let client = |(at, client): (usize, PyResult<Bound<'py, PyAny>>)| {
        let client = client?;
        let refused =
            |_| PyTypeError::new_err(format!("clients[{at}] {} is {}: {advice}", shown(&client), kind(&client)));
        client.clone().cast_into::<Client>().map_err(refused)
    };
    clients.try_iter().map_err(|_| refused())?.enumerate().map(client).collect()
}
