//! "Did you mean …?": the known name that a misspelt one is closest to.

use crate::limits::ECHOED_CHARACTERS;

/// The known name closest to `name`, if one is so close that it was probably meant. Of equally
/// close ones the first.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = letters(name)?;
    // A third of the letters may be wrong, at least one; then even short names can be put right.
    let tolerance = (wanted.len() / 3).max(1);
    known
        .into_iter()
        .filter_map(|candidate| {
            let letters = letters(candidate)?;
            let close = letters.len().abs_diff(wanted.len()) <= tolerance;
            let distance = if close {
                distance(&wanted, &letters)
            } else {
                return None;
            };
            // Of a single letter nothing is left to recognise.
            (distance <= tolerance && distance < wanted.len().max(letters.len()))
                .then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Lower-case letters; separators do not count, so `maxPrice`, `max_price` and `max-price` are equal.
/// `None` for names too long to be worth comparing.
fn letters(name: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = name
        .chars()
        .filter(|char| !matches!(char, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .take(ECHOED_CHARACTERS + 1)
        .collect();
    (1..=ECHOED_CHARACTERS)
        .contains(&letters.len())
        .then_some(letters)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        let known = ["query", "limit", "sort", "max_price", "n"];
        let cases = [
            ("qurey", Some("query")),
            ("Query", Some("query")),
            ("quer", Some("query")),
            ("limits", Some("limit")),
            ("maxPrice", Some("max_price")),
            ("max-prise", Some("max_price")),
            ("sotr", Some("sort")),
            ("N", Some("n")),
            ("x", None),
            ("colour", None),
            ("", None),
            ("___", None),
        ];
        for (name, expected) in cases {
            assert_eq!(closest(name, known), expected, "{name}");
        }
    }

    #[test]
    fn the_closest_wins_and_of_equals_the_first() {
        assert_eq!(
            closest("search_a", ["search_abc", "search_ab"]),
            Some("search_ab")
        );
        assert_eq!(closest("tab", ["tac", "tad"]), Some("tac"));
    }

    #[test]
    fn very_long_names_are_not_compared() {
        let long = "a".repeat(100_000);
        assert_eq!(closest(&long, [long.as_str()]), None);
    }
}
