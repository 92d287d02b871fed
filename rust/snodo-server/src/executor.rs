//! Admission and its consequences: permits, bounded queue, deadline, cancellation, drain.
