//! The metrics of all processes as those of one: whoever looks at them comes to any.

use std::fmt::Write;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full, Limited};
use tokio::time::{Duration, timeout};

use crate::fleet::Fleet;
use crate::fleet::links;

/// How long another process may take to tell its own. Then they are left out, this time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of the metrics of one process.
const MOST_BYTES: usize = 16 << 20;

impl Fleet {
    /// The metrics of all, each sample labelled with its worker. `own` are those of this one.
    pub(crate) async fn metrics(&self, own: String, path: &'static str) -> String {
        let others = self.others().map(async |worker| {
            let told = timeout(PATIENCE, self.metrics_of(worker, path)).await;
            Some((worker, told.ok()??))
        });
        let mut all: Vec<_> = join_all(others).await.into_iter().flatten().collect();
        all.push((self.member.index, own));
        all.sort_unstable_by_key(|(worker, _)| *worker);
        together(&all)
    }

    async fn metrics_of(&self, worker: u8, path: &'static str) -> Option<String> {
        let request = Request::get(path).body(Full::new(Bytes::new())).ok()?;
        let (response, _connection) = links::exchange(&self.socket(worker), request).await.ok()?;
        let text = Limited::new(response.into_body(), MOST_BYTES)
            .collect()
            .await;
        String::from_utf8(text.ok()?.to_bytes().into()).ok()
    }
}

/// A family's head and samples come once and in one piece, as the format wants it.
fn together(all: &[(u8, String)]) -> String {
    let mut families: Vec<(&str, String, String)> = Vec::new();
    for (worker, text) in all {
        let mut at = 0;
        for line in text.lines() {
            if let Some(said) = line.strip_prefix('#') {
                // ` HELP name …`, then ` TYPE name …`
                let name = said.split(' ').nth(2).unwrap_or_default();
                let found = families.iter().position(|family| family.0 == name);
                at = found.unwrap_or_else(|| {
                    families.push((name, String::new(), String::new()));
                    families.len() - 1
                });
                let heads = &mut families[at].1;
                if !heads.lines().any(|head| head == line) {
                    heads.push_str(line);
                    heads.push('\n');
                }
            } else if let Some((_, _, samples)) = families.get_mut(at)
                && let Some(end) = line.find(['{', ' '])
            {
                let (name, rest) = line.split_at(end);
                let _ = match rest.strip_prefix('{') {
                    Some(labels) => writeln!(samples, "{name}{{worker=\"{worker}\",{labels}"),
                    None => writeln!(samples, "{name}{{worker=\"{worker}\"}}{rest}"),
                };
            }
        }
    }
    families
        .into_iter()
        .map(|(_, heads, samples)| heads + &samples)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_comes_once_and_each_sample_says_whose_it_is() {
        let one = "# HELP a A.\n# TYPE a counter\na{x=\"1\"} 1\na{x=\"2\"} 2\n# HELP b B.\n# TYPE b gauge\nb 3\n";
        let two = "# HELP b B.\n# TYPE b gauge\nb 4\n# HELP c C.\n# TYPE c gauge\nc 5\n";
        let all = [(0, one.to_owned()), (2, two.to_owned())];
        assert_eq!(
            together(&all),
            "# HELP a A.\n# TYPE a counter\n\
             a{worker=\"0\",x=\"1\"} 1\na{worker=\"0\",x=\"2\"} 2\n\
             # HELP b B.\n# TYPE b gauge\nb{worker=\"0\"} 3\nb{worker=\"2\"} 4\n\
             # HELP c C.\n# TYPE c gauge\nc{worker=\"2\"} 5\n"
        );
    }
}
