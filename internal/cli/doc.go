// Package cli holds the conventions of this repository's command lines: the output of data (--output), usage errors and
// exit codes. It contains no command.
package cli
