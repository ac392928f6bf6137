// Package panics turns a panic into an error of the function that panicked. A panic that nothing recovers ends the
// process, and with it the calls of all other callers.
package panics

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Error is a recovered panic.
type Error struct {
	panicValue any
	stackText  []byte
}

// Error implements error. The text leaves the stack out: the stack is for the log only.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.panicValue) }

// Attrs returns the panic and its stack for a log record.
func (e *Error) Attrs() []slog.Attr {
	return []slog.Attr{slog.Any("error", e), slog.String("stack", string(e.stackText))}
}

// Catch calls fn and returns its error, or an *[Error] when fn panics.
func Catch(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{value, debug.Stack()}
		}
	}()
	return fn()
}

// Is reports whether err is, or wraps, an *[Error].
func Is(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}
