package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"
)

// terminalWidth returns the width in characters of the terminal that w writes to, or 0 if w is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// writeTable prints a table. If it is too wide, it omits columns and says so. It does not truncate cells, because a
// truncated id could not be pasted into the next command.
func (o Output) writeTable(header []string, rows []table.Row) error {
	left := 0
	text := renderTable(header, rows, nil)
	for ; o.maxWidth > 0 && widestLine(text) > o.maxWidth && left < len(o.spareColumns); left++ {
		text = renderTable(header, rows, o.spareColumns[:left+1])
	}
	if _, err := fmt.Fprintln(o.Writer, text); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(o.notesWriter, "(omitted, the terminal is too narrow: %s; --wide shows all)\n",
			strings.Join(o.spareColumns[:left], ", "))
	}
	return nil
}

// renderTable renders a table without some of its columns. It has no rules, so that cut and grep can process it.
func renderTable(header []string, rows []table.Row, without []string) string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	var kept []int
	titles := table.Row{}
	for i, title := range header {
		if !slices.Contains(without, title) {
			kept, titles = append(kept, i), append(titles, strings.ToUpper(title))
		}
	}
	t.AppendHeader(titles)
	for _, cells := range rows {
		row := make(table.Row, len(kept))
		for i, k := range kept {
			row[i] = cells[k]
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// widestLine returns the length of the longest line, in characters.
func widestLine(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return n
}
