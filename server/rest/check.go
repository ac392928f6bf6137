package rest

import (
	"fmt"
	"strconv"
	"time"
)

// maxErrors bounds how many invalid fields one answer names.
const maxErrors = 32

// Check collects the invalid fields of a request, so that one answer reports all of them. Fields carry their JSON
// names. The zero value is ready to use. Not safe for concurrent use.
type Check struct {
	parent       *Check // nil at the top level
	listField    string // the field of the parent that holds the checked element
	elementIndex int    // of the element in that list
	fieldErrors  []FieldError
}

// That reports detail about field unless ok is true.
func (c *Check) That(ok bool, field, detail string) {
	if !ok {
		c.addError(field, detail)
	}
}

// Match requires value to have the format. "" is reported as missing.
func (c *Check) Match(field, value string, f Format) {
	if f.Valid(value) {
		return
	}
	if value == "" {
		c.addError(field, "is required and must be "+f.Description)
		return
	}
	c.addError(field, "must be "+f.Description)
}

// Each requires every value of a list to have the format.
func (c *Check) Each(field string, values []string, f Format) {
	for i, v := range values {
		if !f.Valid(v) {
			c.addError(elementName(field, i), "must be "+f.Description)
		}
	}
}

// Unique requires the values of a list to differ from each other.
func (c *Check) Unique(field string, values []string) {
	if len(values) < 2 {
		return
	}
	seen := make(map[string]struct{}, len(values))
	for i, v := range values {
		if _, twice := seen[v]; twice {
			c.addError(elementName(field, i), "is in the list twice")
		}
		seen[v] = struct{}{}
	}
}

// Range requires lo ≤ n ≤ hi.
func (c *Check) Range(field string, n, lo, hi int) {
	if n < lo || n > hi {
		c.addError(field, fmt.Sprintf("must be %d to %d", lo, hi))
	}
}

// Len requires text of lo to hi bytes.
func (c *Check) Len(field, value string, lo, hi int) {
	if len(value) < lo || len(value) > hi {
		c.addError(field, fmt.Sprintf("must be %d to %d bytes long", lo, hi))
	}
}

// Count requires a list, which has n entries, to have lo to hi.
func (c *Check) Count(field string, n, lo, hi int) {
	if n < lo || n > hi {
		c.addError(field, fmt.Sprintf("must have %d to %d entries", lo, hi))
	}
}

// Flag reads a query parameter that is true or false; absent, it is false.
func (c *Check) Flag(name, text string) bool {
	c.That(text == "" || text == "true" || text == "false", name, "must be true or false")
	return text == "true"
}

// Wait reads the query parameter wait of a call that may wait; absent, it is 0.
func (c *Check) Wait(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	c.That(err == nil && d >= 0 && d <= MaxWait, "wait", "must be a duration of at most 60s, such as 30s")
	return d
}

// Element returns a Check for one element of a list. It reports fields as list[index].field, to c.
func (c *Check) Element(list string, index int) Check {
	return Check{parent: c, listField: list, elementIndex: index}
}

// Err returns nil when every field is valid, else a 400 problem that names the invalid fields.
func (c *Check) Err() error {
	if len(c.fieldErrors) == 0 {
		return nil
	}
	return fieldProblems(c.fieldErrors)
}

func (c *Check) addError(field, detail string) {
	for ; c.parent != nil; c = c.parent {
		field = elementName(c.listField, c.elementIndex) + "." + field
	}
	if len(c.fieldErrors) < maxErrors {
		c.fieldErrors = append(c.fieldErrors, FieldError{Field: field, Detail: detail})
	}
}

func elementName(list string, index int) string { return list + "[" + strconv.Itoa(index) + "]" }

// CheckSub returns the player that a path names as sub. Errors: a problem that names the field.
func CheckSub(text string) (string, error) {
	var c Check
	c.Match("sub", text, Sub)
	return text, c.Err()
}
