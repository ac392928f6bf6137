package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
)

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
