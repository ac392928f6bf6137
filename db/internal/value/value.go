// Package value holds small rules of values that several parts of the store write.
package value

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxReason bounds what an author says about a change, in characters.
const MaxReason = 500

// ValidReason reports whether a reason has at most [MaxReason] characters.
func ValidReason(reason string) bool { return utf8.RuneCountInString(reason) <= MaxReason }

// maxRegion bounds the name of a region, in bytes, as the constraints of the tables do.
const maxRegion = 32

// ValidRegion reports whether s may be the name of a region: letters from a to z, digits and hyphens.
func ValidRegion(s string) bool {
	if s == "" || len(s) > maxRegion {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}) < 0
}

// NewID makes an id that sorts by time, which keeps the index on it compact.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// IntOrNil returns the value of a column that may be NULL.
func IntOrNil(p *int32) *int {
	if p == nil {
		return nil
	}
	n := int(*p)
	return &n
}
