// Package postfix holds the wiring's script and the lines that it sets, as they
// lie in this folder, so that the binary has them wherever it is.
package postfix

import "embed"

// Files are the script "wire" and what it reads beside it.
//
//go:embed wire a.main.cf a.master.cf a.transport b.main.cf
var Files embed.FS
