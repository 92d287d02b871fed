//! Actor tools: an operation of a named actor as a tool. Checks, builds the message, asks or tells, and
//! encodes the reply; everything about it was fixed when it was declared but the arguments.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use snodo_core::json::Object;
use snodo_core::limits::Limits;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::schema::{Schema, Validator};
use snodo_server::handler::Reply;

use crate::callable::PyCallable;
use crate::context::PyContext;
use crate::convert::{encode_plain, object_to_python, plain_object};
use crate::lane::actor::{
    Encodes, Fault, Letter, Mailbox, Message, PyPending, Ticket, Waits, post,
};
use crate::lane::{Job, ThreadLane};
use crate::{error, imports, schema};

/// What one actor tool does.
pub(crate) struct ActorTool {
    name: String,
    target: String,
    schema: Schema,
    message: Builder,
    /// `None`: a cast.
    call: Option<Call>,
}

/// Where messages come from.
enum Builder {
    Constant(Arc<Py<PyAny>>),
    /// A function of the arguments.
    Arguments(Py<PyAny>),
    /// A function of the arguments and the context.
    Context(Py<PyAny>),
}

struct Call {
    patience: Duration,
    /// `None`: it takes anything but one argument.
    encoder: Option<Py<PyAny>>,
}

impl ActorTool {
    /// Takes a call of the tool, on a thread that is not Python's.
    pub(crate) fn begin(self: &Arc<Self>, job: Job, threads: &ThreadLane) {
        if let Err(fault) = self.check(&job.call.arguments) {
            return job.reply.send(fault.into());
        }
        match &self.message {
            Builder::Constant(message) => {
                self.send(Message::Constant(message.clone()), &job.callable, job.reply);
            }
            // A function of the author's runs where plain functions do.
            Builder::Arguments(_) | Builder::Context(_) => threads.push(job),
        }
    }

    /// Goes on with it on a thread of Python's, in the context of the call.
    pub(crate) fn build_and_send(
        self: &Arc<Self>,
        context: &Bound<'_, PyContext>,
        callable: &PyCallable,
        reply: Reply,
    ) {
        let arguments = &context.get().call().arguments;
        match self.build(context.py(), arguments, context.as_any()) {
            Ok(_) if reply.is_cancelled() => {} // nobody waits, so nothing is to happen any more
            Ok(message) => self.send(Message::Own(message), callable, reply),
            Err(fault) => reply.send(fault.into()),
        }
    }

    fn check(&self, arguments: &Object) -> Result<(), Fault> {
        self.schema
            .broken_rule(arguments)
            .map_or(Ok(()), |rule| Err(Fault::Invalid(rule)))
    }

    fn build(
        &self,
        py: Python<'_>,
        arguments: &Object,
        context: &Bound<'_, PyAny>,
    ) -> Result<Py<PyAny>, Fault> {
        let built = match &self.message {
            Builder::Constant(message) => return Ok(message.clone_ref(py)),
            Builder::Arguments(builder) => object_to_python(py, arguments)
                .and_then(|arguments| builder.call1(py, (arguments,))),
            Builder::Context(builder) => object_to_python(py, arguments)
                .and_then(|arguments| builder.call1(py, (arguments, context))),
        };
        match built {
            Ok(message) => match error::refusal(message.bind(py)) {
                Some(refused) => Err(Fault::Refused(refused, message)),
                None => Ok(message),
            },
            Err(raised) => {
                let raised = raised.into_value(py).into_bound(py);
                Err(match error::refusal(raised.as_any()) {
                    Some(refused) => Fault::Refused(refused, raised.into_any().unbind()),
                    None => self.broken(raised.as_any(), Fault::Builder),
                })
            }
        }
    }

    /// Asks or tells, and sees to it that the call is answered. Never attaches.
    fn send(self: &Arc<Self>, message: Message, callable: &PyCallable, reply: Reply) {
        let Some(mailbox) = Mailbox::find(&self.target) else {
            return reply.send(Fault::Unavailable.into());
        };
        let Some(call) = &self.call else {
            let sent = mailbox.put(Letter::tell(message));
            return reply.send(sent.map_or_else(Outcome::from, |()| acknowledged()));
        };
        let cancel = reply.cancelled().clone();
        let encoding = self.encoding(callable.result_bytes());
        let waiter = Box::new(Caller(reply));
        let Ok(ticket) = Ticket::new(waiter, Some(call.patience), Some(encoding)) else {
            return; // no runtime, so nobody to answer
        };
        let forsaken = Arc::downgrade(&ticket);
        cancel.on_cancel(move |_| {
            if let Some(ticket) = forsaken.upgrade() {
                ticket.abandon();
            }
        });
        if let Err(fault) = mailbox.put(Letter::ask(message, ticket.clone())) {
            ticket.fail(fault);
        }
    }

    fn encoding(self: &Arc<Self>, limit: usize) -> Arc<dyn Encodes> {
        let tool = self.clone();
        Arc::new(Encoding { tool, limit })
    }

    /// A reply as the client is to read it, and the JSON text of that.
    fn encode<'py>(
        &self,
        reply: &Bound<'py, PyAny>,
        limit: usize,
    ) -> Result<(Bound<'py, PyAny>, Vec<u8>), Fault> {
        let py = reply.py();
        let encoder = self.call.as_ref().and_then(|call| call.encoder.as_ref());
        let encoder = encoder.ok_or(Fault::NoEncoder)?.bind(py);
        let value = encoder.call1((reply,)).map_err(|raised| {
            let raised = raised.into_value(py).into_bound(py);
            self.broken(raised.as_any(), Fault::Encoder)
        })?;
        if !value.is_instance_of::<PyDict>() {
            return Err(Fault::NotObject);
        }
        let text = encode_plain(&value, limit).map_err(|_| Fault::NotObject)?;
        Ok((value, text))
    }

    /// What the author's function raised is for the log alone.
    fn broken(&self, raised: &Bound<'_, PyAny>, fault: Fault) -> Fault {
        let py = raised.py();
        let _ = imports::report(py).and_then(|report| report.call1(("Tool", &self.name, raised)));
        fault
    }
}

fn acknowledged() -> Outcome {
    Value::Structured(br#"{"sent":true}"#.to_vec()).into()
}

/// How replies to one call are encoded.
struct Encoding {
    tool: Arc<ActorTool>,
    limit: usize,
}

impl Encodes for Encoding {
    fn encode<'py>(
        &self,
        reply: &Bound<'py, PyAny>,
    ) -> Result<(Bound<'py, PyAny>, Vec<u8>), Fault> {
        self.tool.encode(reply, self.limit)
    }
}

/// A call of the tool that waits for a reply.
struct Caller(Reply);

impl Waits for Caller {
    fn replied(self: Box<Self>, _value: &Bound<'_, PyAny>, text: Vec<u8>) {
        self.0.send(Value::Structured(text).into());
    }

    fn failed(self: Box<Self>, fault: Fault) {
        self.0.send(fault.into());
    }
}

/// Code that called the generated handler itself.
struct Direct(PyPending);

impl Waits for Direct {
    fn replied(self: Box<Self>, value: &Bound<'_, PyAny>, _text: Vec<u8>) {
        self.0.settle(Ok(value.clone().unbind()));
    }

    fn failed(self: Box<Self>, fault: Fault) {
        self.0.settle(Err(fault));
    }
}

/// A tool as it was declared, to be called with arguments and context.
#[pyclass(frozen, name = "ActorTool", module = "snodo._snodo")]
pub(crate) struct PyActorTool(pub(crate) Arc<ActorTool>);

#[pymethods]
impl PyActorTool {
    #[new]
    #[pyo3(signature = (name, target, input_schema, message, parameters, *, timeout_ms=None, encode_reply=None))]
    fn new(
        name: String,
        target: String,
        input_schema: &[u8],
        message: Py<PyAny>,
        parameters: usize,
        timeout_ms: Option<u64>,
        encode_reply: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let schema = Schema::input(&schema::read(input_schema)?, Validator::Basic)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        let message = match parameters {
            0 => Builder::Constant(Arc::new(message)),
            1 => Builder::Arguments(message),
            _ => Builder::Context(message),
        };
        let call = timeout_ms.map(|timeout_ms| Call {
            patience: Duration::from_millis(timeout_ms),
            encoder: encode_reply,
        });
        Ok(Self(Arc::new(ActorTool {
            name,
            target,
            schema,
            message,
            call,
        })))
    }

    /// Does it outside of any server. What goes wrong is what is pending, too.
    fn __call__(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyAny>,
        context: &Bound<'_, PyAny>,
    ) -> PyResult<PyPending> {
        let pending = PyPending::default();
        let built = plain_object(arguments, Limits::default().body_bytes);
        let built = built.map_err(|_| Fault::NotJson).and_then(|arguments| {
            self.0.check(&arguments)?;
            self.0.build(py, &arguments, context)
        });
        let message = match built {
            Ok(message) => Message::Own(message),
            Err(fault) => {
                pending.settle(Err(fault));
                return Ok(pending);
            }
        };
        let mailbox = Mailbox::find(&self.0.target);
        if let Some(call) = &self.0.call {
            let waiter = Box::new(Direct(pending.clone()));
            let encoding = self.0.encoding(Limits::default().result_bytes);
            let patience = Some(call.patience);
            post(
                py,
                mailbox.as_ref(),
                message,
                patience,
                waiter,
                Some(encoding),
            )?;
            return Ok(pending);
        }
        let sent = mailbox.map_or(Err(Fault::Unavailable), |mailbox| {
            mailbox.put(Letter::tell(message))
        });
        let acknowledged = PyDict::new(py);
        acknowledged.set_item("sent", true)?;
        pending.settle(sent.map(|()| acknowledged.into_any().unbind()));
        Ok(pending)
    }
}
