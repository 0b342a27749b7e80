// Package config knows the operator's file: what may stand in it, what it
// means, and which mailbox an address is.
//
// [Load] reads the TOML file and the lists that it names, whole or not at all:
// an unknown key, a wrong type and a bad value are each an [Error] with the
// line, and every one found is told. A key whose part is not built yet can
// only stand at its default; anything else is an error that says so, so no
// line of the file is ever ignored. [Config.Resolve] is the one place that
// says which recipient is which mailbox. [Config.Compare] says what is different
// in the next one, and what it would leave unguarded. [Describe] prints every key from the
// table by which Load reads.
//
// # Security
//
// The package opens the config file and the files named by senders_file, and
// nothing else; both are bounded in size. No default lists a sender, and no
// key turns off a condition that is not documented as a switch. Resolve takes
// what the other side of SMTP wrote: it is total, it allocates no more than
// its input, and what it cannot read is no mailbox.
//
// # Diagnostics
//
// Load answers *[Error] values joined by [errors.Join], in the order of the
// lines. Their texts quote the operator's file, never mail.
// [Config.Warnings] says what is allowed and probably not meant.
package config
