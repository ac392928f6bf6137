package db

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicError is a panic that was recovered. A panic of one goroutine would end the process, and with it the calls of everybody
// else.
type panicError struct {
	value any
	stack []byte
}

// Error implements error. The stack is for the log only.
func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (p *panicError) attrs() []slog.Attr {
	return []slog.Attr{slog.Any("error", p), slog.String("stack", string(p.stack))}
}

// withoutPanic calls fn and turns its panic into a *panicError.
func withoutPanic(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value, debug.Stack()}
		}
	}()
	return fn()
}

func isPanic(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}
