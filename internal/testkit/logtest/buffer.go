// Package logtest collects what a program logs, for tests that read it.
package logtest

import (
	"bytes"
	"strings"
	"sync"
)

// Buffer is a writer that a test reads while others write to it. Its zero value is empty and ready to use. It is safe
// for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Count returns how often words were written.
func (b *Buffer) Count(words string) int { return strings.Count(b.String(), words) }
