// Package doctor breaks the two wirings of contrib/postfix in every way that
// stile doctor is to find, each on a configuration directory of a real Postfix,
// and holds that a sound one is met with silence.
package doctor
