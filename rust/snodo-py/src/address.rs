//! Where and how HTTP is served, as Python says it: addresses, files of TLS, one process among several.

use std::ffi::OsString;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use snodo_server::bind::{self, BindError, HttpOptions};
use snodo_server::fleet::Worker;
use snodo_server::hub::Hub;
use snodo_server::listener::{Address, BoundSocket};
use snodo_server::tls::TlsFiles;

use crate::settings::configuration_error;

/// Takes an address for other processes to serve: its file descriptor, which is the caller's from here
/// on, and the path of the socket if that is a file.
#[pyfunction]
pub(crate) fn listen(py: Python<'_>, options: PyHttpOptions) -> PyResult<(i32, Option<OsString>)> {
    let options = HttpOptions::from(options);
    let bound = py.detach(|| bind::listen(&options));
    let bound = bound.map_err(|error| bind_error(py, error))?;
    let path = match bound.address() {
        Address::Unix(path) => Some(path.clone()),
        Address::Tcp(_) => None,
    };
    Ok((
        bound.into_fd().into_raw_fd(),
        path.map(PathBuf::into_os_string),
    ))
}

pub(crate) fn bind_error(py: Python<'_>, error: BindError) -> PyErr {
    match error {
        BindError::Path(_)
        | BindError::Taken(_)
        | BindError::Metrics(_)
        | BindError::UnixTls
        | BindError::NoPath
        | BindError::Tls(_)
        | BindError::Entry(_) => configuration_error(py, error),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Where and for whom to serve HTTP, as Python names it: the members of a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyHttpOptions {
    host: String,
    port: u16,
    path: String,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    legacy_sse: bool,
    uds: Option<PathBuf>,
    tls: Option<PyTlsFiles>,
}

impl From<PyHttpOptions> for HttpOptions {
    fn from(options: PyHttpOptions) -> Self {
        Self {
            host: options.host,
            port: options.port,
            path: options.path,
            allowed_hosts: options.allowed_hosts,
            allowed_origins: options.allowed_origins,
            legacy_sse: options.legacy_sse,
            uds: options.uds,
            tls: options.tls.map(TlsFiles::from),
        }
    }
}

/// Files of certificates and keys, as Python names them.
#[derive(FromPyObject)]
pub(crate) struct PyTlsFiles {
    certfile: PathBuf,
    keyfile: Option<PathBuf>,
    keyfile_password: Option<String>,
    ca_certs: Option<PathBuf>,
}

impl From<PyTlsFiles> for TlsFiles {
    fn from(files: PyTlsFiles) -> Self {
        Self {
            certificate: files.certfile,
            key: files.keyfile,
            password: files.keyfile_password,
            authorities: files.ca_certs,
        }
    }
}

/// Which of several processes this one is.
#[derive(FromPyObject)]
pub(crate) struct PyWorker {
    index: u8,
    count: u16,
    pub(crate) folder: PathBuf,
    socket: i32,
    pub(crate) parent: u32,
}

impl PyWorker {
    /// The socket, and what this process knows of the others. It can be taken once.
    pub(crate) fn take(self, hub: Option<Hub>) -> Result<(BoundSocket, Worker), BindError> {
        #[expect(unsafe_code, reason = "Python hands over a plain number")]
        // SAFETY: the parent process left it open for this one, where only this call takes it.
        let socket = unsafe { OwnedFd::from_raw_fd(self.socket) };
        let socket = BoundSocket::inherited(socket).map_err(|source| BindError::Other {
            address: "the inherited socket".to_owned(),
            source,
        })?;
        let worker = Worker {
            index: self.index,
            count: self.count,
            folder: self.folder,
            hub,
        };
        Ok((socket, worker))
    }
}
