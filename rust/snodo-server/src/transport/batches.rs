//! JSON-RPC batches, which MCP 2025-03-26 has: the answers to messages that came together leave
//! together.

use std::collections::HashMap;

/// The batches that are under way. Requests are known by their place in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    /// The one that is taken in.
    current: Option<u64>,
    begun: u64,
    under_way: HashMap<u64, Batch>,
    /// Which batch a request came in.
    requests: HashMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Batch {
    left: usize,
    answers: Vec<Vec<u8>>,
}

impl Batches {
    /// From here on messages are of one batch.
    pub(crate) fn begin(&mut self) {
        self.begun += 1;
        self.current = Some(self.begun);
        self.under_way.insert(self.begun, Batch::default());
    }

    /// They are not any more. Gives the answers if there is nothing to wait for.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        let batch = self.current.take()?;
        self.finish(batch)
    }

    /// A request is taken in.
    pub(crate) fn enter(&mut self, request: u64) {
        if let Some(current) = self.current {
            self.requests.insert(request, current);
            self.under_way.entry(current).or_default().left += 1;
        }
    }

    /// Something is answered at once. Gives what can be written.
    pub(crate) fn say(&mut self, answer: Vec<u8>) -> Option<Vec<u8>> {
        match self.current {
            Some(current) => {
                self.under_way
                    .entry(current)
                    .or_default()
                    .answers
                    .push(answer);
                None
            }
            None => Some(answer),
        }
    }

    /// A request that was taken in is answered, or ended without. Gives what can be written.
    pub(crate) fn answer(&mut self, request: u64, answer: Option<Vec<u8>>) -> Option<Vec<u8>> {
        if self.requests.is_empty() {
            return answer;
        }
        let Some(at) = self.requests.remove(&request) else {
            return answer;
        };
        let batch = self.under_way.entry(at).or_default();
        batch.answers.extend(answer);
        batch.left -= 1;
        self.finish(at)
    }

    /// A request needs no answer any more. Gives what can be written.
    pub(crate) fn leave(&mut self, request: u64) -> Option<Vec<u8>> {
        self.answer(request, None)
    }

    fn finish(&mut self, at: u64) -> Option<Vec<u8>> {
        if self.current == Some(at) || self.under_way.get(&at)?.left > 0 {
            return None;
        }
        joined(&self.under_way.remove(&at)?.answers)
    }
}

/// Answers as one array; nothing where there is none.
pub(crate) fn joined(answers: &[Vec<u8>]) -> Option<Vec<u8>> {
    if answers.is_empty() {
        return None;
    }
    let mut out = vec![b'['];
    for answer in answers {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(answer);
    }
    out.push(b']');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: Option<Vec<u8>>) -> Option<String> {
        body.map(|body| String::from_utf8(body).expect("UTF-8"))
    }

    #[test]
    fn answers_leave_when_the_last_one_is_there() {
        let mut batches = Batches::default();
        batches.begin();
        batches.enter(1);
        assert_eq!(batches.say(b"{0}".to_vec()), None);
        batches.enter(2);
        assert_eq!(
            batches.answer(1, Some(b"{1}".to_vec())),
            None,
            "it is taken in"
        );
        assert_eq!(batches.end(), None);
        assert_eq!(text(batches.say(b"{9}".to_vec())).as_deref(), Some("{9}"));
        assert_eq!(
            text(batches.answer(7, Some(b"{7}".to_vec()))).as_deref(),
            Some("{7}")
        );
        let all = batches.answer(2, Some(b"{2}".to_vec()));
        assert_eq!(text(all).as_deref(), Some("[{0},{1},{2}]"));
        assert!(batches.under_way.is_empty() && batches.requests.is_empty());
    }

    #[test]
    fn what_is_cancelled_is_not_waited_for() {
        let mut batches = Batches::default();
        batches.begin();
        batches.enter(1);
        batches.enter(2);
        batches.end();
        assert_eq!(batches.leave(1), None);
        let all = batches.answer(2, Some(b"{2}".to_vec()));
        assert_eq!(text(all).as_deref(), Some("[{2}]"));
        batches.begin();
        batches.enter(3);
        batches.end();
        assert_eq!(batches.leave(3), None, "there is nothing to answer");
        batches.begin();
        assert_eq!(batches.end(), None);
        assert!(batches.under_way.is_empty());
    }
}
