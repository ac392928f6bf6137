package profile

import (
	"strings"
	"unicode/utf8"
)

// Parse reads a profile from YAML or JSON of at most [MaxBytes]. Reading is strict: keys that are not known, values of other
// types and rules that cannot hold together are refused. Defaults are filled in. Errors: *[Error], with up to 16 problems.
func Parse(document []byte) (*Profile, error) {
	c, err := convert(document, false)
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// ParseStored reads a document that a release has accepted, maybe an earlier one that checked less: a profile that matches nobody
// must not become one that cannot be read. Errors: as Parse.
func ParseStored(document []byte) (*Profile, error) {
	c, err := convert(document, true)
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// Warnings returns what is allowed in a document and may be a mistake. A document that [Parse] refuses has none.
func Warnings(document []byte) []Problem {
	c, err := convert(document, false)
	if err != nil {
		return nil
	}
	return c.undeclared()
}

func convert(document []byte, stored bool) (*converter, error) {
	r := &report{stored: stored}
	root := read(r, document)
	if root == nil {
		return nil, r.err()
	}
	documentShape.check(r, root)
	c := &converter{
		report: r, p: &Profile{},
		attributes: map[string]use{}, ids: map[string]bool{}, roles: map[string]bool{}, nodes: map[string]*node{},
	}
	if root.kind == isObject {
		c.profile(root)
		c.contradictions()
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// read returns the root of a document, or nil after it reported a problem.
func read(r *report, document []byte) *node {
	text := strings.TrimPrefix(string(document), "\uFEFF") // a byte order mark, which some editors write
	switch {
	case len(document) > MaxBytes:
		r.addAt(1, 1, "", "the document has %d bytes: %d are allowed", len(document), MaxBytes)
		return nil
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		at := cursor{line: 1, column: 1}
		at.move(text, badByte(text))
		r.addAt(at.line, at.column, "", "the document must be text in UTF-8")
		return nil
	case isJSON(text):
		return readJSON(r, text)
	}
	return readYAML(r, text)
}

// badByte returns the offset of the first byte that is not text in UTF-8.
func badByte(text string) int {
	for i, c := range text {
		if c == 0 {
			return i
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}
