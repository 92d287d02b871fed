//! The body of a request, bounded in size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use tokio::time::timeout;

use crate::transport::connection::Life;

/// Why there is no whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incomplete {
    TooLarge,
    Late,
    Closing,
    Malformed,
}

/// The body of a request, whoever reads it from the network.
pub(crate) trait Incoming:
    Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static
{
}

impl<B> Incoming for B where
    B: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static
{
}

/// Reads a body within the time that one may take, however many pieces it comes in.
pub(crate) async fn collect(
    body: impl Incoming,
    limit: usize,
    life: &Life,
) -> Result<Bytes, Incomplete> {
    let whole = pieces(body, limit, life).await;
    life.run();
    whole
}

/// Bytes of a body that nobody needs, and how long they are waited for, before its connection is given
/// up instead. The body of a message mostly comes with its head or right behind it.
const PASSED_BYTES: usize = 64 << 10;
const PASSED_TIME: Duration = Duration::from_millis(100);

/// Reads a body that nobody needs, if it is small and comes at once. False: there is more of it.
pub(crate) async fn pass_over(body: &mut impl Incoming, life: &Life) -> bool {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > PASSED_BYTES {
        return false;
    }
    let passed = timeout(PASSED_TIME, async {
        let mut bytes = 0;
        while let Ok(piece) = next(body, life).await {
            let Some(piece) = piece else { return true };
            bytes += piece.len();
            if bytes > PASSED_BYTES {
                break;
            }
        }
        false
    })
    .await;
    life.run();
    passed.unwrap_or(false)
}

/// A body that arrives in one piece, as most do, is not copied.
async fn pieces(mut body: impl Incoming, limit: usize, life: &Life) -> Result<Bytes, Incomplete> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(Incomplete::TooLarge);
    }
    let first = next(&mut body, life).await?.unwrap_or_default();
    if first.len() > limit {
        return Err(Incomplete::TooLarge);
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    let mut whole = Vec::with_capacity(announced);
    whole.extend_from_slice(&first);
    while let Some(piece) = next(&mut body, life).await? {
        if whole.len() + piece.len() > limit {
            return Err(Incomplete::TooLarge);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// The next piece; trailers are skipped.
async fn next(body: &mut impl Incoming, life: &Life) -> Result<Option<Bytes>, Incomplete> {
    poll_fn(|context| {
        loop {
            match Pin::new(&mut *body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(piece) = frame.into_data() else {
                        continue;
                    };
                    return Poll::Ready(Ok(Some(piece)));
                }
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Incomplete::Malformed)),
                Poll::Pending => {}
            }
            if life.is_closing() && !life.is_from_worker() {
                return Poll::Ready(Err(Incomplete::Closing));
            }
            if life.is_late() {
                return Poll::Ready(Err(Incomplete::Late));
            }
            life.await_body();
            return Poll::Pending;
        }
    })
    .await
}
