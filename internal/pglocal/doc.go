// Package pglocal owns private Postgres clusters: it finds the server's binaries on this machine, makes a data directory,
// and runs a postmaster that belongs to this process and ends with it. `director dev`, the demo and the tests use it, so
// that nobody has to set up a database first. It knows nothing of schemas; migrations and package db do.
//
// A cluster's directory holds:
//
//	data/          the Postgres data directory
//	run/           the Unix socket (in the temporary directory instead when the path would be too long for a socket)
//	lock           held while a process uses the directory
//	password       what the superuser postgres needs over TCP; the socket trusts whoever may enter run/
//	postgres.log   the server's log
//
// States of a [Cluster]:
//
//	Start ──► running ──Stop, StopImmediate──► stopped ──(*Cluster).Start──► running
//	             └──────── it died ──────────► stopped, and Err says why
//
// Postgres refuses to run as root. Started by root, it runs as the owner of an existing data directory, else as the user
// postgres, else as nobody, and every directory above its files must let that user pass.
//
// Linux and macOS are served; elsewhere [Start] returns an error. On Linux the kernel signals the postmaster when this
// process ends, on macOS a small shell that outlives us does it.
package pglocal
