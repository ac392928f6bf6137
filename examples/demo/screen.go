package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// view is all there is to see at one moment.
type view struct {
	elapsed, length        time.Duration
	sample                 sample
	replicas               []replicaView
	worker                 bool
	playing, bots, rejoins int
	rate                   float64 // seats given a second
	events                 []event
}

// replicaView is how a replica looks from outside.
type replicaView struct {
	name           string
	running, ready bool
	answers        int // calls of players answered well
}

// screen shows views and events, as they come.
type screen interface {
	show(v view)
	note(e event)
}

// newScreen draws in place on a terminal, and writes lines elsewhere.
func newScreen(o options, out io.Writer) (screen, paint) {
	file, ok := out.(*os.File)
	if !ok || o.plain {
		return &plain{out: out}, false
	}
	if _, _, terminal := terminalSize(file); !terminal {
		return &plain{out: out}, false
	}
	colours := paint(envOr("NO_COLOR", "") == "")
	return &live{out: file, paint: colours}, colours
}

// paint colours text, or does not (https://no-color.org).
type paint bool

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p paint) in(colour, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (p paint) event(e event) string {
	text := "· " + e.text
	switch e.mood {
	case good:
		text = p.in(green, "✓ "+e.text)
	case bad:
		text = p.in(red, "! "+e.text)
	case calm:
	}
	return p.in(dim, clock(e.at)) + "  " + text
}

// clock writes a time of the play as minutes and seconds.
func clock(d time.Duration) string {
	seconds := int(d.Seconds())
	return fmt.Sprintf("%02d:%02d", seconds/60, seconds%60)
}

// word is a server's state for people.
func (s serverRow) word() (text, colour string) {
	switch {
	case s.Status == "gone":
		return "gone", red
	case s.Silent != nil && *s.Silent > leaseTTL/2:
		return fmt.Sprintf("silent %.1fs", s.Silent.Seconds()), red
	case s.Status == "draining":
		return "draining", yellow
	}
	return s.Status, green
}

// word is a replica's state for people.
func (r replicaView) word() (text, colour string) {
	switch {
	case !r.running:
		return "killed", red
	case !r.ready:
		return "starting", yellow
	}
	return "ready", green
}
