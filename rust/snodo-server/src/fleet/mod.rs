//! Processes that serve one address together. A client's next message may come to any of them.
//!
//! A session lives in one process, and its key says in which; the others hand over what is for it
//! (`transport/handover.rs`), by sockets in a folder that nobody else may enter. What happens to one's hub
//! happens to all (`words`), and what is counted is told as a whole (`metrics`).

pub(crate) mod links;
mod metrics;
pub(crate) mod words;

use std::fs;
use std::path::PathBuf;

use crate::bind::BindError;
use crate::fleet::links::Links;
use crate::hub::Hub;
use crate::listener::{BoundSocket, SocketFile};
use crate::session::Key;

/// One of the processes.
#[derive(Clone)]
pub struct Worker {
    /// Which.
    pub index: u8,
    /// Of how many.
    pub count: u16,
    /// Where their sockets are. For this user alone.
    pub folder: PathBuf,
    /// What the application publishes to.
    pub hub: Option<Hub>,
}

/// What a process knows of the others.
pub(crate) struct Fleet {
    pub(crate) member: Worker,
    pub(crate) links: Links,
}

impl Fleet {
    pub(crate) fn new(member: Worker) -> Self {
        let links = Links::default();
        Self { member, links }
    }

    /// Which other process made a key.
    pub(crate) fn other(&self, key: Key) -> Option<u8> {
        let worker = key.worker();
        (worker != self.member.index && u16::from(worker) < self.member.count).then_some(worker)
    }

    /// The others.
    pub(crate) fn others(&self) -> impl Iterator<Item = u8> {
        let all = (0..self.member.count).filter_map(|worker| u8::try_from(worker).ok());
        all.filter(|worker| *worker != self.member.index)
    }

    /// Where another one is.
    pub(crate) fn socket(&self, worker: u8) -> PathBuf {
        self.member.folder.join(worker.to_string())
    }

    /// Makes the socket to which the others hand over.
    pub(crate) fn bind(&self) -> Result<(BoundSocket, SocketFile), BindError> {
        let path = self.socket(self.member.index);
        // That of the process in whose place this one is.
        let _ = fs::remove_file(&path);
        Ok((BoundSocket::unix(&path)?, SocketFile::new(&path)))
    }
}
