package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// live redraws one picture in place.
type live struct {
	out   *os.File
	paint paint

	mu    sync.Mutex
	lines int // of the picture that stands there
}

// note has nothing to do: the next picture shows the event.
func (l *live) note(event) {}

// show draws over the last picture. Lines are cut to the terminal's width and their number to its height: one that
// wrapped, or scrolled away, could not be drawn over.
func (l *live) show(v view) {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, height, ok := terminalSize(l.out)
	if !ok {
		width, height = 80, 24
	}
	lines := l.picture(v, width, height-1)
	var b strings.Builder
	if l.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.lines)
	}
	for _, line := range lines {
		b.WriteString("\r" + text.Trim(line, width-1) + "\x1b[0m\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	l.lines = len(lines)
	_, _ = l.out.WriteString(b.String()) // A terminal that is gone needs no picture.
}

// picture has at most height lines; the newest events get what is left.
func (l *live) picture(v view, width, height int) []string {
	lines := []string{
		" " + l.paint.in(bold, "Lattice Director") + l.paint.in(dim, "  the demo  ") + l.progress(v, max(10, min(30, width-50))),
		"",
	}
	lines = append(lines, l.servers(v)...)
	lines = append(lines, "", l.processes(v), l.totals(v), "")
	room := min(8, height-len(lines))
	if room <= 0 {
		return lines[:max(1, min(len(lines), height))]
	}
	events := v.events[max(0, len(v.events)-room):]
	for _, e := range events {
		lines = append(lines, " "+l.paint.event(e))
	}
	for range room - len(events) {
		lines = append(lines, "") // The picture keeps its size, so that what is above stays still.
	}
	return lines
}

func (l *live) progress(v view, width int) string {
	done := min(width, int(float64(width)*v.elapsed.Seconds()/v.length.Seconds()))
	return l.paint.in(cyan, strings.Repeat("━", done)) + l.paint.in(dim, strings.Repeat("━", width-done)) +
		" " + clock(min(v.elapsed, v.length)) + l.paint.in(dim, " of "+clock(v.length))
}

func (l *live) servers(v view) []string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.Options{SeparateHeader: true}
	t.Style().Format.Header = text.FormatDefault
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = " ", "  "
	t.AppendHeader(table.Row{"server", "status", "matches", "players", "load"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, WidthMin: 11}, {Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight},
	})
	for _, s := range v.sample.servers {
		word, colour := s.word()
		t.AppendRow(table.Row{s.Name, l.paint.in(colour, word), s.Sessions, fmt.Sprintf("%d of %d", s.Players, s.Capacity), l.bar(s, colour)})
	}
	return strings.Split(t.Render(), "\n")
}

// bar shows seats taken, seats open in matches, and seats free for more matches.
func (l *live) bar(s serverRow, colour string) string {
	const width = 24
	at := func(n int) int { return min(width, (n*width+s.Capacity/2)/s.Capacity) }
	players, reserved := at(s.Players), at(max(s.Reserved, s.Players))
	return l.paint.in(colour, strings.Repeat("█", players)) + l.paint.in(colour, strings.Repeat("▒", reserved-players)) +
		l.paint.in(dim, strings.Repeat("·", width-reserved))
}

func (l *live) processes(v view) string {
	var parts []string
	for _, r := range v.replicas {
		word, colour := r.word()
		parts = append(parts, fmt.Sprintf("%s %s %s", r.name, l.paint.in(colour, "● "+word), l.paint.in(dim, fmt.Sprintf("%d answers", r.answers))))
	}
	state := l.paint.in(green, "●")
	if !v.worker {
		state = l.paint.in(red, "●")
	}
	return " " + strings.Join(append(parts, "worker "+state), "   ")
}

func (l *live) totals(v view) string {
	number := func(format string, args ...any) string { return l.paint.in(bold, fmt.Sprintf(format, args...)) }
	return fmt.Sprintf(" playing %s of %d   matches made %s   seats %s/s   rejoins %s",
		number("%d", v.playing), v.bots, number("%d", v.sample.matches), number("%.1f", v.rate), number("%d", v.rejoins))
}
