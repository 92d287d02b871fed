//! Lines in, bounded; nothing here knows what a line means.

use std::ops::Range;

use memchr::memchr;
use snodo_core::limits::PEEKED_BYTES;

/// What arrived between two line ends.
#[derive(Debug, PartialEq, Eq)]
enum Frame {
    Line(Range<usize>),
    /// What was kept of it.
    TooLong(Range<usize>),
}

/// One line of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its bytes, without line ending and byte order mark; never blank.
    Text(&'a [u8]),
    /// It was longer than the limit and has been dropped, but for its beginning.
    TooLong(&'a [u8]),
}

/// Complete lines that arrived together.
#[derive(Debug)]
pub(crate) struct Batch {
    text: Vec<u8>,
    frames: std::vec::IntoIter<Frame>,
}

impl Batch {
    /// The next line that is not blank.
    pub(crate) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            match self.frames.next()? {
                Frame::TooLong(range) => return Some(Line::TooLong(bare(&self.text[range]))),
                Frame::Line(range) => {
                    // Checked twice, as a borrow that is returned from a loop lives on in it.
                    if !bare(&self.text[range.clone()]).trim_ascii().is_empty() {
                        return Some(Line::Text(bare(&self.text[range])));
                    }
                }
            }
        }
    }
}

/// A line without byte order mark and line ending.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Cuts a stream of bytes into lines. Holds one unfinished line, never more than `limit` bytes of it.
#[derive(Debug)]
pub(crate) struct Framer {
    limit: usize,
    /// Lines that are complete, then the beginning of the next one.
    text: Vec<u8>,
    frames: Vec<Frame>,
    /// Where the unfinished line begins.
    start: usize,
    /// The unfinished line is too long already: the rest of it is dropped as it comes.
    skipping: bool,
}

impl Framer {
    /// `limit` counts the line ending.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            text: Vec::new(),
            frames: Vec::new(),
            start: 0,
            skipping: false,
        }
    }

    /// Takes what has arrived, gives the lines it completes.
    pub(crate) fn push(&mut self, mut chunk: &[u8]) -> Option<Batch> {
        while let Some(at) = memchr(b'\n', chunk) {
            let (piece, rest) = chunk.split_at(at + 1);
            if self.extend(piece) {
                self.end_line();
            }
            self.skipping = false;
            chunk = rest;
        }
        self.extend(chunk);
        self.take()
    }

    /// The end of the stream: a last line without line ending is a line.
    pub(crate) fn finish(&mut self) -> Option<Batch> {
        if self.text.len() > self.start {
            self.end_line();
        }
        self.take()
    }

    /// Appends to the unfinished line. False when it is too long.
    fn extend(&mut self, piece: &[u8]) -> bool {
        if !self.skipping && self.text.len() - self.start + piece.len() > self.limit {
            self.keep_beginning(piece);
            self.skipping = true;
        }
        if !self.skipping {
            self.text.extend_from_slice(piece);
        }
        !self.skipping
    }

    /// Drops the unfinished line but for its beginning. That stays as long as its frame does.
    fn keep_beginning(&mut self, piece: &[u8]) {
        let kept = PEEKED_BYTES.min(self.limit);
        let missing = kept.saturating_sub(self.text.len() - self.start);
        self.text
            .extend_from_slice(&piece[..missing.min(piece.len())]);
        self.text.truncate(self.start + kept);
        self.frames
            .push(Frame::TooLong(self.start..self.text.len()));
        self.start = self.text.len();
    }

    fn end_line(&mut self) {
        self.frames.push(Frame::Line(self.start..self.text.len()));
        self.start = self.text.len();
    }

    fn take(&mut self) -> Option<Batch> {
        if self.frames.is_empty() {
            return None;
        }
        let rest = self.text.split_off(self.start);
        self.start = 0;
        Some(Batch {
            text: std::mem::replace(&mut self.text, rest),
            frames: std::mem::take(&mut self.frames).into_iter(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every line, `!` for one that was too long.
    fn lines(limit: usize, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut framer = Framer::new(limit);
        let mut batches: Vec<_> = chunks
            .iter()
            .filter_map(|chunk| framer.push(chunk))
            .collect();
        batches.extend(framer.finish());
        let mut all = Vec::new();
        for mut batch in batches {
            while let Some(line) = batch.next() {
                all.push(match line {
                    Line::Text(text) => text.to_vec(),
                    Line::TooLong(_) => b"!".to_vec(),
                });
            }
        }
        all
    }

    #[test]
    fn every_line_ending_is_tolerated() {
        let text = b"a\nb\r\n\xEF\xBB\xBFc\n\n \r\n\xEF\xBB\xBF\nd\re\nlast";
        assert_eq!(
            lines(100, &[text]),
            [&b"a"[..], b"b", b"c", b"d\re", b"last"]
        );
    }

    #[test]
    fn a_line_in_pieces_is_one_line() {
        assert_eq!(
            lines(100, &[b"ab", b"", b"c\r", b"\nd", b"\n"]),
            [b"abc".to_vec(), b"d".to_vec()]
        );
    }

    #[test]
    fn the_limit_counts_the_line_ending() {
        assert_eq!(lines(4, &[b"abc\nabcd\nab\n"]), [&b"abc"[..], b"!", b"ab"]);
    }

    #[test]
    fn a_line_without_end_holds_no_memory() {
        let mut framer = Framer::new(1000);
        assert!(framer.push(&[b'x'; 999]).is_none());
        let mut refused = framer.push(b"xx").expect("answered before it ends");
        assert_eq!(refused.next(), Some(Line::TooLong(&[b'x'; 1000])));
        for _ in 0..1000 {
            assert!(framer.push(&[b'x'; 999]).is_none());
            assert!(framer.text.capacity() <= 4000);
        }
        let mut good = framer.push(b"x\ngood\n").expect("the next line");
        assert_eq!(good.next(), Some(Line::Text(b"good")));
        assert_eq!(good.next(), None);
    }

    proptest! {
        #[test]
        fn where_it_is_cut_changes_nothing(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a')], 0..60),
            cuts in proptest::collection::vec(0usize..60, 0..6),
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(lines(8, &chunks), lines(8, &[&text]));
        }
    }
}
