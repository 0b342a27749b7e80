// Package metrics knows one thing: what is counted, and how Prometheus reads
// it.
//
// [New] makes every series at once, at zero, so that a rate can be computed
// from the first event and an alert can tell "none" from "not there".
//
// # Security
//
// A label value comes from a closed list or from the operator's own
// configuration, never from mail: a value that is on no list counts under
// "other" and creates no series. The HTTP side answers constant texts, reads
// nothing of a request but method and path, and bounds how many are in hand
// and for how long. It has no authentication of its own; listen on loopback.
//
// # Diagnostics
//
// /metrics is the registry; /healthz says that the process answers; /readyz
// says "ready", or "not ready" with status 503, and never why: the reason is
// in the log of who found it.
package metrics
