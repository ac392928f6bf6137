package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"
)

// screen prints what happens. On a terminal it redraws a table of the fleet below the lines; elsewhere it prints a line of
// progress every few seconds. Safe for concurrent use.
type screen struct {
	out      io.Writer
	terminal bool // also: colours (https://no-color.org)

	mu     sync.Mutex
	begun  time.Time
	length time.Duration
	drawn  int       // lines of the table on the terminal
	next   time.Time // of the line of progress
}

// progressInterval is that of the lines of progress where nothing can be redrawn.
const progressInterval = 3 * time.Second

func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	plain := os.Getenv("CI") == "true" || os.Getenv("TERM") == "dumb" || os.Getenv("NO_COLOR") != ""
	return &screen{out: out, terminal: ok && !plain && term.IsTerminal(int(file.Fd()))}
}

const (
	red   = "31"
	green = "32"
	dim   = "2"
)

func (s *screen) in(colour, text string) string {
	if !s.terminal {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (s *screen) bold(text string) string { return s.in("1", text) }

func (s *screen) linef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// step prints the name of a step, makes it, and prints its outcome and duration.
func (s *screen) step(what string, do func() (how string, err error)) error {
	begun := time.Now()
	fmt.Fprintf(s.out, "  %-9s ", what)
	how, err := do()
	if err != nil {
		fmt.Fprintln(s.out)
		return err
	}
	fmt.Fprintln(s.out, how+s.in(dim, ", "+took(begun)))
	return nil
}

func took(since time.Time) string { return fmt.Sprintf("in %.1f s", time.Since(since).Seconds()) }

// begin starts the clock of the play.
func (s *screen) begin(length time.Duration) { s.begun, s.length = time.Now(), length }

func (s *screen) clock() string {
	return s.in(dim, fmt.Sprintf("%6s", time.Since(s.begun).Truncate(time.Second)))
}

// notef prints an event. mark is "!" for a fault, "✓" for a success, "·" for others.
func (s *screen) notef(mark, format string, args ...any) {
	colour := map[string]string{"!": red, "✓": green}[mark]
	s.linef("%s  %s", s.clock(), s.in(colour, mark+" "+fmt.Sprintf(format, args...)))
}

// show redraws the table.
func (s *screen) show(v view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		if now := time.Now(); now.After(s.next) {
			s.next = now.Add(progressInterval)
			fmt.Fprintf(s.out, "%s  %s\n", s.clock(), v)
		}
		return
	}
	s.erase()
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"server", "status", "matches", "players", "load"})
	for _, one := range v.servers {
		t.AppendRow(table.Row{one.Name, one.state(), one.Sessions, fmt.Sprintf("%d of %d", one.Players, one.Capacity), one.bar()})
	}
	picture := fmt.Sprintf("\n%s\n%s of %s: %s\n", t.Render(), s.clock(), s.length, v)
	s.drawn = strings.Count(picture, "\n")
	fmt.Fprint(s.out, picture)
}

// erase removes the table, so that lines can be printed in its place.
func (s *screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// end removes the table.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// summary prints the proofs and where to read on. It reports whether all promises were kept.
func (s *screen) summary(proofs []proof) bool {
	kept := 0
	s.linef("")
	for _, p := range proofs {
		mark := s.in(red, "✗")
		if p.ok {
			kept++
			mark = s.in(green, "✓")
		}
		s.linef("%s %s\n    %s", mark, s.bold(p.claim), p.evidence)
	}
	if kept < len(proofs) {
		s.linef("\n%s", s.in(red, fmt.Sprintf("%d of %d promises were broken.", len(proofs)-kept, len(proofs))))
		return false
	}
	s.linef("\n%s Where to look next:", s.in(green, "All promises were kept."))
	s.linef("  make dev          a director for trying things out, with its API page and a login")
	s.linef("  docs/tutorial.md  your first game server in 15 minutes")
	s.linef("  docs/             how to write game servers and clients, and operate a director")
	s.linef("  examples/arena/   the game server and the bots of this demo")
	return true
}
