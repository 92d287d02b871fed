//! Names that nobody can guess: of sessions, and of the server's own requests.

/// 128 random bits, written as 32 hexadecimal digits. Where several processes serve together the last
/// eight say which of them made it, and the others are random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

impl Key {
    /// A new one.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random bytes");
        Self(u128::from_ne_bytes(bytes))
    }

    /// A new one, of this process among several.
    #[must_use]
    pub fn of_worker(index: u8) -> Self {
        Self(Self::random().0 & !0xff | u128::from(index))
    }

    /// Which of several processes made it.
    pub fn worker(self) -> u8 {
        self.0.to_be_bytes()[15]
    }

    /// Reads one as it is written, and nothing else.
    pub fn read(text: &[u8]) -> Option<Self> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.iter().all(is_digit) {
            return None;
        }
        u128::from_str_radix(std::str::from_utf8(text).ok()?, 16)
            .ok()
            .map(Self)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written_and_no_other_way() {
        let key = Key::random();
        let text = key.to_string();
        assert_eq!(Key::read(text.as_bytes()), Some(key));
        assert_eq!(Key::read(b"00000000000000000000000000000007"), Some(Key(7)));
        for wrong in [
            "",
            "7",
            "0000000000000000000000000000007",
            "000000000000000000000000000000007",
            "0000000000000000000000000000000G",
            "0000000000000000000000000000000A",
            "+0000000000000000000000000000007",
        ] {
            assert_eq!(Key::read(wrong.as_bytes()), None, "{wrong}");
        }
        assert_ne!(Key::random(), key);
    }

    #[test]
    fn a_key_names_its_worker_in_its_last_two_digits() {
        for index in [0, 1, 255] {
            let (one, two) = (Key::of_worker(index), Key::of_worker(index));
            assert_eq!((one.worker(), two.worker()), (index, index));
            assert!(one.to_string().ends_with(&format!("{index:02x}")));
            assert_ne!(one, two);
        }
    }
}
