// Package logtest collects what a program logs or prints, for tests that read it.
package logtest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Buffer is a writer that a test reads while others write to it. Its zero value is empty and ready to use. It is safe
// for concurrent use.
type Buffer struct {
	mu       sync.Mutex
	text     bytes.Buffer
	changed  chan struct{} // closed at the next write and at the end; nil: nobody waits
	hasEnded bool
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.signalChange()
	return b.text.Write(p)
}

// End says that nothing more will be written.
func (b *Buffer) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hasEnded = true
	b.signalChange()
}

// signalChange wakes the calls of AwaitLine that wait. The caller holds mu.
func (b *Buffer) signalChange() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// String returns all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Count returns how often words were written.
func (b *Buffer) Count(words string) int { return strings.Count(b.String(), words) }

// AwaitLine waits for a line that contains words, and returns the first one. The test fails when [Buffer.End] or five
// minutes come before it.
func (b *Buffer) AwaitLine(t testing.TB, words string) string {
	t.Helper()
	timeout := time.After(5 * time.Minute) // programs start slowly on a machine that runs all tests at once
	for {
		text, hasEnded, changed := b.watchText()
		for line := range strings.Lines(text) {
			// The last line may be written in parts: it counts once its end is there.
			if strings.Contains(line, words) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		require.False(t, hasEnded, "the program ended before it printed %s: %s", words, text)
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(t, "the program did not print "+words, text)
		}
	}
}

// watchText returns the present text, and a channel that is closed at the next change.
func (b *Buffer) watchText() (text string, hasEnded bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.text.String(), b.hasEnded, b.changed
}
