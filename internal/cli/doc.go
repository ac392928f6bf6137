// Package cli holds the conventions that the command lines of this repository share: how data is printed (--output), what
// counts as wrong use, and which exit code says what. It knows no command.
package cli
