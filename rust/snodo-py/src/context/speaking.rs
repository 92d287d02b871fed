//! Progress and log entries: what a handler says before its answer.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use snodo_core::limits::{LOG_ENTRY_BYTES, LOGGER_BYTES};
use snodo_core::meta;
use snodo_core::notice::{Amount, Entry, Level, Notice, Progress};
use snodo_core::suggest::closest;
use snodo_server::voice::Voice;

use crate::convert::encode;

/// Held to the rules although nobody listens: a mistake must not wait for a client that does.
pub(super) fn progress(
    voice: Option<&Voice>,
    done: &Bound<'_, PyAny>,
    total: Option<&Bound<'_, PyAny>>,
    message: Option<&Bound<'_, PyString>>,
) -> PyResult<()> {
    let done = amount(done, "done")?;
    let total = total.map(|total| amount(total, "total")).transpose()?;
    let message = message.map(PyStringMethods::to_str).transpose()?;
    if let Some(voice) = voice {
        let message = message.map(str::to_owned);
        voice.say(Notice::Progress(Progress::new(done, total, message)));
    }
    Ok(())
}

/// Says a log entry to a client that wants those of this level on.
pub(super) fn log(
    voice: Option<&Voice>,
    from: Option<Level>,
    level: &str,
    data: &Bound<'_, PyAny>,
    logger: Option<String>,
) -> PyResult<()> {
    let named = Level::named(level).ok_or_else(|| {
        let levels = meta::LOG_LEVELS.join(", ");
        let meant = meant_level(level).map(|near| format!(": did you mean {near:?}?"));
        let meant = meant.unwrap_or_default();
        PyValueError::new_err(format!(
            "level must be one of {levels}, not {level:?}{meant}"
        ))
    })?;
    if logger
        .as_ref()
        .is_some_and(|logger| logger.len() > LOGGER_BYTES)
    {
        let text = format!("logger must take at most {LOGGER_BYTES} bytes");
        return Err(PyValueError::new_err(text));
    }
    let wanted = from.is_some_and(|from| named >= from);
    if let Some(voice) = voice.filter(|_| wanted) {
        let data = encode(data, LOG_ENTRY_BYTES).map_err(|refusal| {
            PyTypeError::new_err(format!("data cannot be sent as JSON: {refusal}"))
        })?;
        // Encoding stops when it notices, which is not to the byte.
        if data.len() > LOG_ENTRY_BYTES {
            let text = format!("data must take at most {LOG_ENTRY_BYTES} bytes as JSON");
            return Err(PyValueError::new_err(text));
        }
        voice.say(Notice::Log(Entry {
            level: named,
            logger,
            data,
        }));
    }
    Ok(())
}

/// The level that was probably meant: shortened, in capitals, or misspelt.
fn meant_level(level: &str) -> Option<&'static str> {
    let lower = level.to_lowercase();
    if matches!(&*lower, "fatal" | "exception") {
        return Some(if lower == "fatal" {
            "critical"
        } else {
            "error"
        });
    }
    let begun = |known: &&str| lower.len() >= 3 && known.starts_with(&lower);
    let shortened = meta::LOG_LEVELS.into_iter().find(begun);
    shortened.or_else(|| closest(level, meta::LOG_LEVELS))
}

/// A number that may be reported as progress.
fn amount(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Amount> {
    let wrong = || {
        let kind = value.get_type().name();
        let kind = kind.map_or_else(|_| "something else".to_owned(), |kind| kind.to_string());
        PyTypeError::new_err(format!("{name} must be a number, not {kind}"))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    if value.is_instance_of::<PyInt>()
        && let Ok(number) = value.extract()
    {
        return Ok(Amount::Int(number));
    }
    // Numbers of other libraries too, as long as they become a float.
    let number: f64 = match value.cast_exact::<PyFloat>() {
        Ok(number) => number.extract()?,
        Err(_) => value.extract().map_err(|_| wrong())?,
    };
    if !number.is_finite() {
        return Err(PyValueError::new_err(format!("{name} must be finite")));
    }
    Ok(Amount::Float(number))
}

/// Something that is done already, for those who await it all the same.
#[pyclass(frozen, name = "Done", module = "snodo._snodo")]
pub(crate) struct Done;

impl Done {
    pub(super) fn one(py: Python<'_>) -> PyResult<&'static Py<Self>> {
        static ONE: PyOnceLock<Py<Done>> = PyOnceLock::new();
        ONE.get_or_try_init(py, || Py::new(py, Self))
    }
}

#[pymethods]
impl Done {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[expect(clippy::unused_self, reason = "Python's iterator protocol")]
    fn __next__(&self) -> Option<Py<PyAny>> {
        None
    }
}
