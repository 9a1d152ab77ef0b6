//! Whose certificates TLS trusts: read once per process, since the system has more than a hundred.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::error::{Code, Error, Result};
use crate::fork::ForkCell;

/// By the file of the CA; none is the system's. With them lie the tickets that shorten the next handshake.
type Configs = HashMap<Option<PathBuf>, Arc<ClientConfig>>;

static KNOWN: ForkCell<Mutex<Configs>> = ForkCell::new();

fn known() -> MutexGuard<'static, Configs> {
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// How to speak TLS with a server that the PEM file `ca` vouches for, or whoever the system trusts.
///
/// # Errors
/// `invalid_argument` for a file that cannot be read or holds no certificate.
pub(crate) fn config(ca: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let place = ca.map(Path::to_owned);
    if let Some(config) = known().get(&place) {
        return Ok(config.clone());
    }
    // Read without the lock: those who know theirs need not wait for a slow disk.
    let config = read(ca)?;
    Ok(known().entry(place).or_insert(config).clone())
}

/// Has the certificates read anew by the next dial: one that they do not vouch for may come from a CA that was renewed.
pub(crate) fn forget(ca: Option<&Path>) {
    known().remove(&ca.map(Path::to_owned));
}

fn read(ca: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let bad = |what: String| Error::invalid(format!("{what}: give a PEM file with the certificate to trust"));
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let shown_path = path.display();
            let certificates = CertificateDer::pem_file_iter(path).map_err(|e| bad(format!("ca {shown_path}: {e}")))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|e| bad(format!("ca {shown_path}: {e}")))?;
                roots.add(certificate).map_err(|e| bad(format!("ca {shown_path}: {e}")))?;
            }
            if roots.is_empty() {
                return Err(bad(format!("ca {shown_path} holds no certificate")));
            }
        }
        None => {
            // A broken certificate among the system's is the system's matter; an empty store fails at the handshake.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(Code::Internal, e.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
