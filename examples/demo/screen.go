package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// screen prints lines. Safe for concurrent use.
type screen struct {
	startedAt time.Time // when the play began

	mu  sync.Mutex
	out io.Writer
}

func (s *screen) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format, args...)
}

// eventf prints a line of the play. mark is "!" for a fault, "✓" for a success, "·" and " " for others.
func (s *screen) eventf(mark, format string, args ...any) {
	s.printf("%6s  %s %s\n", time.Since(s.startedAt).Truncate(time.Second), mark, fmt.Sprintf(format, args...))
}

// step prints the name of a step, which may take minutes, makes it, and prints its outcome and duration.
func (s *screen) step(what string, do func() (how string, err error)) error {
	begun := time.Now()
	s.printf("  %-9s ", what)
	how, err := do()
	if err == nil {
		s.printf("%s, %s\n", how, took(begun))
	}
	return err
}

func took(since time.Time) string { return fmt.Sprintf("in %.1f s", time.Since(since).Seconds()) }

// summary prints some of the proofs, and how many of all failed. It reports whether all promises were kept.
func (s *screen) summary(some, all []proof) bool {
	s.printf("\n")
	for _, p := range some {
		mark := "✓"
		if !p.ok {
			mark = "✗"
		}
		s.printf("%s %s\n    %s\n", mark, p.claim, p.evidence)
	}
	if broken := countBroken(all); broken > 0 {
		s.printf("\n%d of %d promises were broken.\n", broken, len(all))
		return false
	}
	s.printf("\nAll promises were kept.\n")
	return true
}

func countBroken(proofs []proof) (n int) {
	for _, p := range proofs {
		if !p.ok {
			n++
		}
	}
	return n
}
