package db

import "strings"

// quoted escapes the special characters of a quoted array element.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textArray returns the text form of a text[]. A statement that takes a list for each row receives the lists as texts,
// since Postgres has no arrays of arrays of different lengths.
func textArray(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = quoted.WriteString(&b, v) // a Builder never fails
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
