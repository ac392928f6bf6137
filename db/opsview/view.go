package opsview

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Querier runs a query: a pool, or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// View is a view of schema ops. T has a field for each of its columns; F selects rows.
type View[T any, F Filter] struct {
	name  string
	order Order // the default order of its lists; in a list that has pages, its columns identify a row
	each  group // zero, except for a view that is read a group at a time
}

// Order is the columns by which rows are sorted; a dash before a column reverses it.
type Order []string

// group makes a list from the first rows of each group, where an index finds these and no index has the order of the
// list.
type group struct {
	from         string // the groups: a relation with the alias g
	on           string // the condition by which a row v of the view belongs to a group g
	rowsPerGroup int    // how many rows of a group are read; 0: as many as the page has
}

// Page is the part of a list that is read. The zero Page is the whole list.
type Page struct {
	Order Order // empty: the view's own
	After []any // the values of the order's columns in the last row of the page before; empty: the first page
	Limit int   // rows; 0: all
	Skip  int   // rows after After that are left out
	// Scan bounds how many rows after After are read to find those that the filter selects; 0: any number.
	Scan int
}

// MaxPage is the most rows of a page of the console.
const MaxPage = 500

// Name returns the name of the view, without its schema.
func (v View[T, F]) Name() string { return v.name }

// Read returns the rows of a page.
func (v View[T, F]) Read(ctx context.Context, q Querier, f F, p Page) ([]T, error) {
	sql, args, err := v.statement(f, p)
	if err != nil {
		return nil, err
	}
	found, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[T])
}

// List returns a page of at most p.Limit rows, which must not be 0, and whether more follow.
func (v View[T, F]) List(ctx context.Context, q Querier, f F, p Page) (rows []T, more bool, err error) {
	limit := p.Limit
	p.Limit++
	rows, err = v.Read(ctx, q, f, p)
	if len(rows) > limit {
		return rows[:limit], true, err
	}
	return rows, false, err
}

// ErrNoRow is the error of a reading of one row when no row has what its filter selects.
var ErrNoRow = pgx.ErrNoRows

// One returns the first row that the filter selects. Errors: ErrNoRow.
func (v View[T, F]) One(ctx context.Context, q Querier, f F) (row T, err error) {
	rows, err := v.Read(ctx, q, f, Page{Limit: 1})
	if err != nil {
		return row, err
	}
	if len(rows) == 0 {
		return row, ErrNoRow
	}
	return rows[0], nil
}

// statement builds the statement that reads a page. Limits are literals: for parameters the planner expects a tenth of
// the rows.
func (v View[T, F]) statement(f F, p Page) (sql string, args []any, err error) {
	order := p.Order
	if len(order) == 0 {
		order = v.order
	}
	var w where
	after, err := w.behindLast(order, p.After)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", v.name, err)
	}
	f.selectRows(&w)
	from, selected := "ops."+v.name+" v", whereClause(slices.Concat([]string{after}, w.indexTerms, w.terms)...)
	switch {
	case v.each.from != "":
		from, selected = v.each.relation(from, selected, &w, order, p.Limit), ""
	case p.Scan > 0:
		scanned := whereClause(slices.Concat([]string{after}, w.indexTerms)...)
		from, selected = "(SELECT * FROM "+from+scanned+order.sql()+limitClauses(p.Scan, 0)+
			") v", whereClause(w.terms...)
	}
	return "SELECT " + columnsOf[T]() + " FROM " + from + selected + order.sql() +
		limitClauses(p.Limit, p.Skip), w.args, nil
}

// relation returns the relation v of the first rows of each group. from and selected are those of the view.
func (g group) relation(from, selected string, w *where, order Order, limit int) string {
	if g.rowsPerGroup > 0 {
		limit = g.rowsPerGroup
	}
	selected = whereClause(g.on, strings.TrimPrefix(selected, " WHERE "))
	rows := "SELECT v.* FROM " + from + selected + order.sql() + limitClauses(limit, 0)
	return "(SELECT v.* FROM " + g.from + " CROSS JOIN LATERAL (" + rows + ") v" + whereClause(w.groups...) + ") v"
}

// columnsOf returns the select list of a struct, in the order of its fields.
func columnsOf[T any]() string {
	var columns []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		column, ok := f.Tag.Lookup("db")
		if !ok || column == "-" {
			continue
		}
		if expression, ok := f.Tag.Lookup("sql"); ok {
			column = expression + " AS " + column
		}
		columns = append(columns, column)
	}
	return strings.Join(columns, ", ")
}

func (o Order) sql() string {
	if len(o) == 0 {
		return ""
	}
	terms := make([]string, len(o))
	for i, column := range o {
		terms[i] = column
		if name, reversed := strings.CutPrefix(column, "-"); reversed {
			terms[i] = name + " DESC"
		}
	}
	return " ORDER BY " + strings.Join(terms, ", ")
}

// columns returns the columns without dashes, and whether all are reversed. Errors: some are, and others not.
func (o Order) columns() (names []string, reversed bool, err error) {
	names = make([]string, len(o))
	reversedCount := 0
	for i, column := range o {
		names[i] = strings.TrimPrefix(column, "-")
		if names[i] != column {
			reversedCount++
		}
	}
	if reversedCount != 0 && reversedCount != len(o) {
		return nil, false, errors.New("a list in an order of two directions has no pages")
	}
	return names, reversedCount > 0, nil
}

// behindLast binds the values of the last row of the page before, and returns the condition of the rows behind it; ""
// for the first page.
func (w *where) behindLast(o Order, last []any) (string, error) {
	if len(last) == 0 {
		return "", nil
	}
	names, reversed, err := o.columns()
	if err != nil {
		return "", err
	}
	if len(last) != len(names) {
		return "", fmt.Errorf("the key of a row has %d values, not %d", len(names), len(last))
	}
	sign := ">"
	if reversed {
		sign = "<"
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(last)), ", ")
	return w.bind("("+strings.Join(names, ", ")+") "+sign+" ("+marks+")", last), nil
}

// limitClauses returns the clauses LIMIT and OFFSET; 0 needs none.
func limitClauses(limit, skipped int) (clauses string) {
	if limit > 0 {
		clauses = " LIMIT " + strconv.Itoa(limit)
	}
	if skipped > 0 {
		clauses += " OFFSET " + strconv.Itoa(skipped)
	}
	return clauses
}

// Words returns values of a column, or elements of a column of arrays, that begin with a text, sorted, for the
// completion of a word on a command line: at most 100, and none of the given ones.
func (v View[T, F]) Words(ctx context.Context, q Querier, f F, column, begun string, given []string) ([]string, error) {
	var w where
	f.selectRows(&w)
	word, err := wordOf[T](column)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.name, err)
	}
	words := "SELECT DISTINCT " + word + " AS word FROM ops." + v.name + " v" +
		whereClause(slices.Concat(w.indexTerms, w.terms)...)
	condition := w.bind("starts_with(word, ?) AND NOT word = ANY (?)", []any{begun, append([]string{}, given...)})
	found, err := q.Query(ctx, "SELECT word FROM ("+words+") found WHERE "+condition+" ORDER BY word LIMIT 100",
		w.args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

// wordOf returns the expression that has the words of a column. Errors: no field has the column.
func wordOf[T any](column string) (string, error) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if f.Tag.Get("db") != column {
			continue
		}
		if f.Type.Kind() == reflect.Slice {
			return "unnest(" + column + ")", nil
		}
		return column + "::text", nil
	}
	return "", fmt.Errorf("there is no column %s", column)
}
