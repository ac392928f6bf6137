package rest

import (
	"fmt"
	"strconv"
)

// maxErrors bounds how many bad fields one answer names.
const maxErrors = 32

// Check collects what is wrong with a request, field by field, so that a caller learns of everything at once. The zero
// value is ready. Fields are named as the caller wrote them, in JSON's spelling. It belongs to one goroutine.
type Check struct {
	parent *Check // nil at the top
	list   string // the list in the parent, whose element number index this Check is in
	index  int
	errors []FieldError
}

// That notes detail about field unless ok.
func (c *Check) That(ok bool, field, detail string) {
	if !ok {
		c.add(field, detail)
	}
}

// Match wants value in that format. "" counts as missing.
func (c *Check) Match(field, value string, f Format) {
	switch {
	case f.Valid(value):
	case value == "":
		c.add(field, "is required and must be "+f.Allowed)
	default:
		c.add(field, "must be "+f.Allowed)
	}
}

// Each wants every value of a list in that format.
func (c *Check) Each(field string, values []string, f Format) {
	for i, v := range values {
		if !f.Valid(v) {
			c.add(element(field, i), "must be "+f.Allowed)
		}
	}
}

// Unique wants no value in the list twice.
func (c *Check) Unique(field string, values []string) {
	if len(values) < 2 {
		return
	}
	seen := make(map[string]struct{}, len(values))
	for i, v := range values {
		if _, twice := seen[v]; twice {
			c.add(element(field, i), "is in the list twice")
		}
		seen[v] = struct{}{}
	}
}

// Range wants lo ≤ n ≤ hi.
func (c *Check) Range(field string, n, lo, hi int) {
	if n < lo || n > hi {
		c.add(field, fmt.Sprintf("must be %d to %d", lo, hi))
	}
}

// Len wants lo to hi bytes of text.
func (c *Check) Len(field, value string, lo, hi int) {
	if len(value) < lo || len(value) > hi {
		c.add(field, fmt.Sprintf("must be %d to %d bytes long", lo, hi))
	}
}

// Count wants a list of lo to hi entries, of which it got n.
func (c *Check) Count(field string, n, lo, hi int) {
	if n < lo || n > hi {
		c.add(field, fmt.Sprintf("must have %d to %d entries", lo, hi))
	}
}

// At is a Check for the element of a list: what it finds is named list[index].field and noted in c.
func (c *Check) At(list string, index int) Check { return Check{parent: c, list: list, index: index} }

// Err is nil when nothing was wrong, else a 400 problem that names the fields.
func (c *Check) Err() error {
	if len(c.errors) == 0 {
		return nil
	}
	return fieldProblems(c.errors)
}

func (c *Check) add(field, detail string) {
	for ; c.parent != nil; c = c.parent {
		field = element(c.list, c.index) + "." + field
	}
	if len(c.errors) < maxErrors {
		c.errors = append(c.errors, FieldError{Field: field, Detail: detail})
	}
}

func element(list string, index int) string { return list + "[" + strconv.Itoa(index) + "]" }
