//go:build !linux

package timerslack

// Loosen does nothing here.
func Loosen() {}
