//! Whose certificates TLS trusts, and which one it shows: read once per process, since the system has more than a hundred.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::base::endpoint::TlsFiles;
use crate::base::error::{Code, Error, Result};
use crate::base::fork::ForkCell;

/// How to speak TLS with a server. With it lie the tickets that shorten the next handshake.
struct TlsSettings {
    config: Arc<ClientConfig>,
    /// What we show, to tell whether its file was renewed.
    shown: Vec<CertificateDer<'static>>,
}

/// By the files; none of a CA is the system's.
type Configs = HashMap<TlsFiles, TlsSettings>;

static KNOWN: ForkCell<Mutex<Configs>> = ForkCell::new();

fn known() -> MutexGuard<'static, Configs> {
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// How to speak TLS with a server that the PEM file `ca` vouches for, or whoever the system trusts.
///
/// # Errors
/// `invalid_argument` for a file that cannot be read or does not hold what it should.
pub(crate) fn config(files: &TlsFiles) -> Result<Arc<ClientConfig>> {
    if let Some(known) = known().get(files) {
        return Ok(known.config.clone());
    }
    // Read without the lock: those who know theirs need not wait for a slow disk.
    let fresh = read(files)?;
    Ok(known().entry(files.clone()).or_insert(fresh).config.clone())
}

/// Makes the next dial read the certificates again: one that they do not vouch for may come from a CA that was renewed.
pub(crate) fn forget(files: &TlsFiles) {
    known().remove(files);
}

/// Reads the files again, since a server refused what we showed: whether we have another certificate to show now.
pub(crate) fn renew(files: &TlsFiles) -> bool {
    let before = known().remove(files).map(|known| known.shown);
    let Ok(fresh) = read(files) else { return false };
    let is_other = before.is_some_and(|shown| shown != fresh.shown);
    known().entry(files.clone()).or_insert(fresh);
    is_other
}

/// The error of a file; `holds` is what it should hold.
fn bad(what: &str, path: &Path, why: &dyn std::fmt::Display, holds: &str) -> Error {
    Error::invalid(format!("{what} {}: {why}: give a PEM file with {holds}", path.display()))
}

fn certificates(what: &str, path: &Path, holds: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    let found = found.map_err(|e| bad(what, path, &e, holds))?;
    if found.is_empty() {
        return Err(bad(what, path, &"it holds no certificate", holds));
    }
    Ok(found)
}

fn read(files: &TlsFiles) -> Result<TlsSettings> {
    const TRUSTED: &str = "the certificate to trust";
    let mut roots = RootCertStore::empty();
    let mut pinned = Vec::new();
    match &files.ca {
        Some(path) => {
            pinned = certificates("ca", path, TRUSTED)?;
            for certificate in &pinned {
                roots.add(certificate.clone()).map_err(|e| bad("ca", path, &e, TRUSTED))?;
            }
        }
        None => {
            // A broken certificate among the system's is the system's matter; an empty store fails at the handshake.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let internal = |e: &dyn std::fmt::Display| Error::new(Code::Internal, e.to_string());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| internal(&e))?;
    let config = if pinned.is_empty() {
        config.with_root_certificates(roots)
    } else {
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let verifier = Arc::new(Pinned { usual: usual.map_err(|e| internal(&e))?, certificates: pinned });
        config.dangerous().with_custom_certificate_verifier(verifier)
    };
    let Some((cert, key)) = &files.shown else {
        return Ok(TlsSettings { config: Arc::new(config.with_no_client_auth()), shown: Vec::new() });
    };
    let shown = certificates("cert", cert, "our certificate")?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| {
        let why = match e {
            rustls_pki_types::pem::Error::NoItemsFound => "it holds no private key, or an encrypted one".to_owned(),
            other => other.to_string(),
        };
        bad("key", key, &why, "the private key of our certificate, not encrypted")
    })?;
    let config = config.with_client_auth_cert(shown.clone(), secret).map_err(|e| match e {
        rustls::Error::InconsistentKeys(_) => Error::invalid(format!(
            "key {} does not belong to the certificate in cert {}: give the files of one pair",
            key.display(),
            cert.display()
        )),
        other => bad("key", key, &other, "the private key of our certificate"),
    })?;
    Ok(TlsSettings { config: Arc::new(config), shown })
}

/// What a server says against the certificate that we show, or against our showing none; none if that is not the matter.
pub(crate) fn objection(error: &std::io::Error, files: &TlsFiles) -> Option<&'static str> {
    let Some(rustls::Error::AlertReceived(alert)) = error.get_ref().and_then(|inner| inner.downcast_ref()) else {
        return None;
    };
    match (alert, &files.shown) {
        (AlertDescription::CertificateRequired, _)
        | (AlertDescription::HandshakeFailure | AlertDescription::BadCertificate, None) => {
            Some("it demands a client certificate: give its files as cert= and key= to the url")
        }
        (
            AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::DecryptError
            | AlertDescription::AccessDenied,
            Some(_),
        ) => Some("it refused the certificate of cert=: has it expired, and does the server trust who issued it?"),
        _ => None,
    }
}

/// Trusts what the file's certificates vouch for, as is usual, and the file's certificates themselves where a server shows one:
/// what `openssl req -x509` makes is its own CA, which by the book is no server's.
#[derive(Debug)]
struct Pinned {
    usual: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let verdict = self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            // Looked at after its dates, and before what it may be used for.
            Err(error) if is_ca(&error) && self.certificates.iter().any(|pinned| pinned == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Whether a certificate was refused for nothing but that it is a CA's.
pub(crate) fn is_ca(error: &rustls::Error) -> bool {
    // rustls has no name for it, but carries the error of the library below.
    let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) = error else { return false };
    inner.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    /// What `openssl req -x509` makes for a host.
    fn self_signed(file: &str, host: &str) -> (PathBuf, CertificateDer<'static>) {
        let folder = std::env::temp_dir().join(format!("quotalock-trust-{}-{file}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let names = format!("subjectAltName=DNS:{host}");
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=t", "-addext", &names, "-keyout", "key.pem", "-out", "own.pem"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let path = folder.join("own.pem");
        let certificate = CertificateDer::from_pem_file(&path).unwrap();
        (path, certificate)
    }

    fn verdict(pinned: &CertificateDer<'static>, shown: &CertificateDer<'_>, host: &str, later: Duration) -> String {
        let mut roots = RootCertStore::empty();
        roots.add(pinned.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let verifier = Pinned { usual, certificates: vec![pinned.clone()] };
        let now = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) + later);
        let name = ServerName::try_from(host.to_owned()).unwrap();
        format!("{:?}", verifier.verify_server_cert(shown, &[], &name, &[], now))
    }

    #[test]
    fn a_certificate_that_is_its_own_ca_is_trusted_where_it_is_given_for_its_names_and_its_time() {
        let (path, own) = self_signed("own", "cache.test");
        let (other_path, other) = self_signed("other", "cache.test");
        let day = Duration::from_secs(86_400);
        assert!(verdict(&own, &own, "cache.test", Duration::ZERO).starts_with("Ok"));
        for (verdict, why) in [
            (verdict(&other, &own, "cache.test", Duration::ZERO), "CaUsedAsEndEntity"),
            (verdict(&own, &own, "else.test", Duration::ZERO), "NotValidForName"),
            (verdict(&own, &own, "cache.test", 3 * day), "Expired"),
        ] {
            assert!(verdict.starts_with("Err") && verdict.contains(why), "{why}: {verdict}");
        }
        assert!(config(&TlsFiles { ca: Some(path.clone()), shown: None }).is_ok());
        for path in [path, other_path] {
            std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
    }
}
