//! What each transport must promise: one answer a request, none to a notification.
