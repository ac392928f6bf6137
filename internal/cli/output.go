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

	notes io.Writer // for what is about the output and not part of it
	width int       // columns that a table may take; 0: as many as it needs
	spare []string  // the columns that a table goes without where it is too wide, the first one first
}

// Sparing names the columns that a table leaves out where it is too wide, the first one first.
func (o Output) Sparing(titles ...string) Output {
	o.spare = titles
	return o
}

const (
	outputFlag = "output"
	wideFlag   = "wide"
)

// AddOutput gives a command the flag --output, -o.
func AddOutput(cmd *cobra.Command) {
	cmd.Flags().StringP(outputFlag, "o", "table", "How to print: table or json")
	_ = cmd.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Bool(wideFlag, false, "Print every column of a table, also where the terminal is too narrow")
}

// OutputOf reads --output. Errors: a format that is not allowed, which is a wrong use.
func OutputOf(cmd *cobra.Command) (Output, error) {
	format, err := cmd.Flags().GetString(outputFlag)
	if err == nil && !slices.Contains([]string{"table", "json"}, format) {
		err = Usage(fmt.Errorf("--output %q is not allowed: it must be table or json", format))
	}
	out := Output{To: cmd.OutOrStdout(), JSON: format == "json", notes: cmd.ErrOrStderr()}
	if wide, _ := cmd.Flags().GetBool(wideFlag); !wide {
		out.width = terminalWidth(out.To)
	}
	return out, err
}

// Write prints a list. JSON is an array, never null, of the items as they are; a table has a row of cells for each.
func Write[T any](out Output, items []T, header []string, cells func(T) []any) error {
	if out.JSON {
		return WriteJSON(out.To, append([]T{}, items...))
	}
	rows := make([]table.Row, len(items))
	for i, item := range items {
		rows[i] = readable(cells(item))
	}
	return out.writeTable(header, rows)
}

// WriteJSON prints v as indented JSON.
func WriteJSON(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
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
