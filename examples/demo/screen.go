package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// screen prints lines. Safe for concurrent use.
type screen struct {
	// Not guarded by mu: playFor sets it before the goroutines of the play begin.
	startedAt time.Time // when the play began

	mu     sync.Mutex
	output io.Writer
}

func (s *screen) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.output, format, args...)
}

// eventf prints a line of the play. mark is "!" for a fault, "✓" for a success, "·" and " " for others.
func (s *screen) eventf(mark, format string, args ...any) {
	s.printf("%6s  %s %s\n", time.Since(s.startedAt).Truncate(time.Second), mark, fmt.Sprintf(format, args...))
}

// showStep prints the name of a step, which may take minutes, runs it, and prints its outcome and duration.
func (s *screen) showStep(name string, do func() (how string, err error)) error {
	begun := time.Now()
	s.printf("  %-9s ", name)
	how, err := do()
	if err != nil {
		return err // the line stays open: the caller prints the error
	}
	s.printf("%s, %s\n", how, tookText(begun))
	return nil
}

func tookText(since time.Time) string { return fmt.Sprintf("in %.1f s", time.Since(since).Seconds()) }

// showSummary prints some of the proofs, and how many of all failed. It reports whether all promises were kept.
func (s *screen) showSummary(some, all []proof) bool {
	s.printf("\n")
	for _, p := range some {
		mark := "✓"
		if !p.holds {
			mark = "✗"
		}
		s.printf("%s %s\n    %s\n", mark, p.claim, p.evidenceText)
	}
	// Of all proofs, also those that were printed before somebody looked around.
	if broken := countBroken(all); broken > 0 {
		s.printf("\n%d of %d promises were broken.\n", broken, len(all))
		return false
	}
	s.printf("\nAll promises were kept.\n")
	return true
}

func countBroken(proofs []proof) (n int) {
	for _, p := range proofs {
		if !p.holds {
			n++
		}
	}
	return n
}
