//! Certificates and keys from files, and the handshake they are for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pkcs8::EncryptedPrivateKeyInfoRef;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{Error as RustlsError, RootCertStore, ServerConfig};

/// Which files say who the server is, and whom it takes.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and those between it and an authority, in PEM form.
    pub certificate: PathBuf,
    /// Its private key, in PEM form; `None`: in the same file.
    pub key: Option<PathBuf>,
    /// What opens that key, if it is encrypted.
    pub password: Option<String>,
    /// Certificates of authorities, in PEM form: clients need a certificate of one of them.
    pub authorities: Option<PathBuf>,
}

impl std::fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsFiles")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// Why these files are no use. Nothing of what is in them is told.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// It is not there, or not for us.
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, io::Error),
    /// A file without what it should have.
    #[error("{0} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")]
    NoCertificate(PathBuf),
    /// The same, of a key.
    #[error("{0} holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)")]
    NoKey(PathBuf),
    /// A key that nobody can read without its password.
    #[error("the key in {0} is encrypted: --ssl-keyfile-password opens it")]
    Encrypted(PathBuf),
    /// The wrong password.
    #[error("the password does not open the key in {0}")]
    Password(PathBuf),
    /// Encrypted as OpenSSL once did it, which is weak.
    #[error("the key in {0} is encrypted in an outdated form: `openssl pkcs8 -topk8` rewrites it")]
    Outdated(PathBuf),
    /// Another one's key.
    #[error("the key in {key} is not that of the certificate in {certificate}")]
    Mismatch {
        /// Where the key is.
        key: PathBuf,
        /// Where the certificate is.
        certificate: PathBuf,
    },
    /// Something that TLS cannot do with it.
    #[error("cannot use {0} for TLS: {1}")]
    Unusable(PathBuf, String),
}

impl TlsFiles {
    /// Reads the files, once: a change of them counts after a restart.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let chain = certificates(&self.certificate)?;
        let key_file = self.key.as_ref().unwrap_or(&self.certificate);
        let key = private_key(key_file, self.password.as_deref())?;
        let unusable =
            |path: &Path, error: RustlsError| TlsError::Unusable(path.into(), error.to_string());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&self.certificate, error))?;
        let builder = match &self.authorities {
            Some(path) => builder.with_client_cert_verifier(verifier(path, provider)?),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| match error {
                RustlsError::InconsistentKeys(_) => TlsError::Mismatch {
                    key: key_file.clone(),
                    certificate: self.certificate.clone(),
                },
                error => unusable(key_file, error),
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Unreadable(path.into(), error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(TlsError::NoCertificate(path.into())),
    }
}

fn private_key(path: &Path, password: Option<&str>) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    if let Some(sealed) = encrypted(&text) {
        let password = password.ok_or_else(|| TlsError::Encrypted(path.into()))?;
        let opened = EncryptedPrivateKeyInfoRef::try_from(&sealed[..])
            .map_err(|_| TlsError::NoKey(path.into()))?
            .decrypt(password)
            .map_err(|_| TlsError::Password(path.into()))?;
        return Ok(PrivatePkcs8KeyDer::from(opened.as_bytes().to_vec()).into());
    }
    if contains(&text, b"Proc-Type: 4,ENCRYPTED").is_some() {
        return Err(TlsError::Outdated(path.into()));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| TlsError::NoKey(path.into()))
}

/// What stands between the marks of an encrypted key (PKCS #8, RFC 5958).
fn encrypted(text: &[u8]) -> Option<Vec<u8>> {
    const BEGIN: &[u8] = b"-----BEGIN ENCRYPTED PRIVATE KEY-----";
    const END: &[u8] = b"-----END ENCRYPTED PRIVATE KEY-----";
    let begin = contains(text, BEGIN)? + BEGIN.len();
    let length = contains(&text[begin..], END)?;
    let mut digits = text[begin..begin + length].to_vec();
    digits.retain(|byte| !byte.is_ascii_whitespace());
    STANDARD.decode(digits).ok()
}

fn contains(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

/// What asks clients for a certificate of one of these authorities.
fn verifier(
    path: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn tokio_rustls::rustls::server::danger::ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| TlsError::Unusable(path.into(), error.to_string()))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| TlsError::Unusable(path.into(), error.to_string()))
}
