// Package deb holds the test of the Debian package: a Debian of its own, in
// namespaces of its own, from the installation to the purge.
package deb
