// Package pglocal runs private Postgres clusters: it finds the server's binaries on this machine, makes a data
// directory, and runs a postmaster that ends with this process. `director dev`, the demo and the tests use it, so that
// nobody has to set up a database first. It knows no schema: packages migrations and db do.
//
// A cluster's directory holds:
//
//	data/          the Postgres data directory
//	run/           the Unix socket (in the temporary directory if this path would be too long for a socket)
//	lock           held while a process uses the directory
//	password       the superuser's password over TCP; over the socket everybody who may enter run/ is trusted
//	postgres.log   the server's log
//
// States of a [Cluster]:
//
//	Start ──► running ──Stop, StopImmediate──► stopped ──(*Cluster).Start──► running
//	             └──────── crashed ──────────► stopped, and Err returns the reason
//
// Postgres refuses to run as root. If root starts it, it runs as the owner of an existing data directory, else as the
// user postgres, else as nobody. That user needs search permission for every directory above its files.
//
// Linux and macOS are supported; elsewhere [Start] returns an error. On Linux the kernel signals the postmaster when
// this process ends, on macOS a small shell does (package lastwill).
package pglocal
