package loop

import (
	"context"
	"fmt"
	"time"
)

// callTimeout bounds each call of the database. Computing between two calls is not counted.
const callTimeout = 5 * time.Second

// readingError is the error of a call of the database. It leaves what this worker knows valid.
type readingError struct {
	what string
	took time.Duration
	err  error
}

func (e *readingError) Error() string {
	return fmt.Sprintf("%s failed after %s: %v", e.what, e.took.Round(time.Millisecond), e.err)
}

func (e *readingError) Unwrap() error { return e.err }

// reading makes a call of the database within callTimeout. what names it in an error. Errors: [readingError].
func reading(ctx context.Context, what string, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	if err := call(ctx); err != nil {
		return &readingError{what, time.Since(began), err}
	}
	return nil
}
