package opsview

import (
	"slices"
	"strconv"
	"strings"
)

// Filter selects rows of a view. Empty fields of the filters of this package select all rows, except those that name
// one thing.
type Filter interface{ selectRows(w *where) }

// Any is the filter of views that are always read whole.
type Any struct{}

func (Any) selectRows(*where) {}

// where collects the conditions of a statement, which all must hold, and its arguments.
type where struct {
	terms      []string
	indexTerms []string // conditions that an index finds: Page.Scan counts only rows for which they hold
	groups     []string // conditions on the groups g: see View.each
	args       []any
}

// add adds a condition; each ? in it is one of the arguments.
func (w *where) add(condition string, args ...any) {
	w.terms = append(w.terms, "("+w.bind(condition, args)+")")
}

// addIndexed is like addEqual, for a column by which an index finds the rows in the order of the list.
func (w *where) addIndexed(column, value string) {
	if value != "" {
		w.indexTerms = append(w.indexTerms, w.bind(column+" = ?", []any{value}))
	}
}

// addGroup selects the groups with a value; "" selects all.
func (w *where) addGroup(column, value string) {
	if value != "" {
		w.groups = append(w.groups, w.bind("g."+column+" = ?", []any{value}))
	}
}

// bind adds the arguments of a condition, and returns the condition with numbered placeholders instead of each ?.
func (w *where) bind(condition string, args []any) string {
	for _, arg := range args {
		w.args = append(w.args, arg)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(w.args)), 1)
	}
	return condition
}

// addEqual selects the rows with a value; "" selects all.
func (w *where) addEqual(column, value string) {
	if value != "" {
		w.add(column+" = ?", value)
	}
}

// addExact selects the rows with a value, also with the empty one, so that a lookup by an empty id finds nothing.
func (w *where) addExact(column string, value any) { w.add(column+" = ?", value) }

// addID selects the row with an id; nil selects all.
func addID[T any](w *where, column string, value *T) {
	if value != nil {
		w.addExact(column, *value)
	}
}

// addElement selects the rows whose array has a value; "" selects all.
func (w *where) addElement(column, value string) {
	if value != "" {
		w.add("? = ANY ("+column+")", value)
	}
}

// addPrefix selects the rows whose text begins so; "" selects all.
func (w *where) addPrefix(column, text string) {
	if text != "" {
		w.add("starts_with("+column+", ?)", text)
	}
}

// whereClause returns a WHERE clause of the conditions. It skips empty ones.
func whereClause(conditions ...string) string {
	all := slices.DeleteFunc(conditions, func(c string) bool { return c == "" })
	if len(all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(all, " AND ")
}
