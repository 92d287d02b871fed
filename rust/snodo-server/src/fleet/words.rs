//! What happens to the hub of one process, told to the hubs of the others.
//!
//! As well as it goes: what a process has no room for, or does not hear as it is being replaced, is
//! lost to its listeners.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::subscription::{Change, Event, Own};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use crate::fleet::Fleet;
use crate::fleet::links;
use crate::hub::{Hub, Word};

/// Where the others take them. Only connections of workers get there.
pub(crate) const WORDS: &str = "/words";

/// Words that wait for one process.
const WAITING: usize = 1024;

/// Words in one message.
const TOGETHER: usize = 64;

/// Bytes of more than one word in a message. An event of an extension may take half of them by itself.
const BYTES: usize = 2 << 20;

/// How long a process may take to hear them.
const PATIENCE: Duration = Duration::from_secs(5);

impl Fleet {
    /// Begins to tell the others what happens here.
    pub(crate) fn relay(&self) -> JoinSet<()> {
        let mut tellers = JoinSet::new();
        let Some(hub) = &self.member.hub else {
            return tellers;
        };
        let mut ears = Vec::new();
        for socket in self.others().map(|worker| self.socket(worker)) {
            let (ear, words) = channel(WAITING);
            tellers.spawn(tell(socket, words));
            ears.push(ear);
        }
        hub.relay_to(move |word| {
            for ear in &ears {
                if ear.try_send(word.clone()).is_err() {
                    tracing::debug!("another worker hears of an event too slowly; it is left out");
                }
            }
        });
        tellers
    }
}

/// Tells one process whatever there is, together what came together.
async fn tell(socket: PathBuf, mut words: Receiver<Word>) {
    let mut together = Vec::new();
    while words.recv_many(&mut together, TOGETHER).await > 0 {
        for message in messages(&together) {
            let heard = timeout(PATIENCE, post(&socket, message)).await;
            if !matches!(heard, Ok(Ok(()))) {
                tracing::debug!("another worker did not hear of an event");
            }
        }
        together.clear();
    }
}

/// The words in lists, each of them small enough to be taken as one message.
fn messages(words: &[Word]) -> Vec<Vec<u8>> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for word in words {
        let said = spell(word).to_vec();
        match messages.last_mut() {
            Some(last) if last.len() + said.len() < BYTES => last.push(b','),
            _ => messages.push(b"[".to_vec()),
        }
        messages.last_mut().expect("one at least").extend(said);
    }
    for message in &mut messages {
        message.push(b']');
    }
    messages
}

async fn post(socket: &Path, said: Vec<u8>) -> Result<(), links::Failed> {
    let request = Request::post(WORDS)
        .body(Bytes::from(said).into())
        .expect("a legal request");
    links::exchange(socket, request).await.map(drop)
}

/// Does here what another process tells of.
pub(crate) fn hear(hub: &Hub, text: &[u8], limits: &Limits) {
    let limits = Limits {
        // What an application published lies two deeper here.
        json_depth: limits.json_depth + 2,
        ..limits.clone()
    };
    if let Ok(Json::Array(said)) = json::parse(text, &limits) {
        let words = said.into_iter().filter_map(read);
        words.for_each(|word| hub.hear(&word));
    }
}

fn spell(word: &Word) -> Json {
    let mut said = Object::new();
    let kind = match word {
        Word::Complete => "complete",
        Word::Event(event) => match &event.change {
            Change::ToolsList => "tools",
            Change::PromptsList => "prompts",
            Change::ResourcesList => "resources",
            Change::Resource(_) => "resource",
            Change::Extension(_) => "extension",
        },
    };
    said.insert("kind", Json::String(kind.to_owned()));
    if let Word::Event(event) = word {
        if let Change::Resource(uri) = &event.change {
            said.insert("uri", Json::String(uri.clone()));
        }
        if let Change::Extension(own) = &event.change {
            said.insert("extension", Json::String(own.extension.clone()));
            said.insert("selector", Json::String(own.selector.clone()));
            let payload = event.payload.as_deref().cloned();
            said.insert("payload", payload.unwrap_or(Json::Null));
        }
        said.insert("metadata", Json::Object(event.metadata.clone()));
    }
    Json::Object(said)
}

fn read(said: Json) -> Option<Word> {
    let Json::Object(mut said) = said else {
        return None;
    };
    let change = match said.get("kind")?.as_str()? {
        "complete" => return Some(Word::Complete),
        "tools" => Change::ToolsList,
        "prompts" => Change::PromptsList,
        "resources" => Change::ResourcesList,
        "resource" => Change::Resource(said.get("uri")?.as_str()?.to_owned()),
        "extension" => Change::Extension(Box::new(Own {
            extension: said.get("extension")?.as_str()?.to_owned(),
            selector: said.get("selector")?.as_str()?.to_owned(),
        })),
        _ => return None,
    };
    let Some(Json::Object(metadata)) = said.take("metadata") else {
        return None;
    };
    let event = match change {
        Change::Extension(own) => Event::of_extension(*own, said.take("payload")?, metadata),
        change => Event::new(change, metadata),
    };
    let event = event.ok()?;
    Some(Word::Event(Arc::new(event)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_as_it_was_said() {
        let mut metadata = Object::new();
        metadata.insert("com.example/n", Json::Int(1));
        let changes = [
            Change::ToolsList,
            Change::PromptsList,
            Change::ResourcesList,
            Change::Resource("note://a".to_owned()),
        ];
        let events = changes.map(|change| Event::new(change, metadata.clone()).expect("legal"));
        let mut words: Vec<_> = events.map(|event| Word::Event(Arc::new(event))).into();
        words.push(Word::Complete);
        words.push(of_extension(&Json::Int(7)));
        for word in words {
            assert_eq!(read(spell(&word)), Some(word));
        }
    }

    fn of_extension(payload: &Json) -> Word {
        let own = Own {
            extension: "com.example/jobs".to_owned(),
            selector: "a".to_owned(),
        };
        let event = Event::of_extension(own, payload.clone(), Object::new());
        Word::Event(Arc::new(event.expect("legal")))
    }

    #[test]
    fn words_are_sent_together_as_far_as_there_is_room() {
        let small = of_extension(&Json::Int(1));
        let large = of_extension(&Json::String("x".repeat(BYTES / 2)));
        let words = [small.clone(), large.clone(), large.clone(), small.clone()];
        let messages = messages(&words);
        let read = |message: &Vec<u8>| match json::parse(message, &Limits::default()) {
            Ok(Json::Array(said)) => said.into_iter().filter_map(read).collect::<Vec<_>>(),
            other => panic!("no list: {other:?}"),
        };
        let heard: Vec<_> = messages.iter().map(read).collect();
        assert_eq!(
            heard,
            [vec![small.clone(), large.clone()], vec![large, small]]
        );
    }

    #[test]
    fn anything_else_is_nothing() {
        for said in [
            "1",
            "{}",
            r#"{"kind":"tasks","metadata":{}}"#,
            r#"{"kind":"tools"}"#,
            r#"{"kind":"resource","metadata":{}}"#,
            r#"{"kind":"resource","uri":"no uri","metadata":{}}"#,
        ] {
            let json = json::parse(said.as_bytes(), &Limits::default()).expect("JSON");
            assert_eq!(read(json), None, "{said}");
        }
    }
}
