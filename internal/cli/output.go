package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// Output is where data goes and how it is written: as a table for people, or as JSON for scripts, whose fields stay.
type Output struct {
	To   io.Writer
	JSON bool
}

const outputFlag = "output"

// AddOutput gives a command the flag --output, -o.
func AddOutput(cmd *cobra.Command) {
	cmd.Flags().StringP(outputFlag, "o", "table", "How to print: table or json")
	_ = cmd.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// OutputOf reads --output. Errors: a format that is not allowed, which is a wrong use.
func OutputOf(cmd *cobra.Command) (Output, error) {
	format, err := cmd.Flags().GetString(outputFlag)
	if err == nil && !slices.Contains([]string{"table", "json"}, format) {
		err = Usage(fmt.Errorf("--output %q is not allowed: it must be table or json", format))
	}
	return Output{cmd.OutOrStdout(), format == "json"}, err
}

// Write prints a list. JSON is an array, never null, of the items as they are; a table has a row of cells for each.
func Write[T any](out Output, items []T, header []string, cells func(T) []any) error {
	if out.JSON {
		return WriteJSON(out.To, append([]T{}, items...))
	}
	t := newTable(out.To)
	row := table.Row{}
	for _, h := range header {
		row = append(row, strings.ToUpper(h))
	}
	t.AppendHeader(row)
	for _, item := range items {
		t.AppendRow(readable(cells(item)))
	}
	t.Render()
	return nil
}

// WriteJSON prints v as indented JSON.
func WriteJSON(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// newTable has no lines: it is as easy to read, to cut and to grep.
func newTable(to io.Writer) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(to)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// readable writes cells as a person likes them.
func readable(cells []any) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		switch v := cell.(type) {
		case []string:
			row[i] = strings.Join(v, ",")
		case time.Time:
			row[i] = v.UTC().Format(time.RFC3339)
		case *time.Time:
			row[i] = ""
			if v != nil {
				row[i] = v.UTC().Format(time.RFC3339)
			}
		case bool:
			row[i] = map[bool]string{true: "yes", false: "no"}[v]
		default:
			row[i] = cell
		}
	}
	return row
}
