package db

import (
	"strings"
	"unicode/utf8"
)

// isStorable reports whether Postgres can store a text. No row has a text that it cannot store.
func isStorable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// storableText returns a text without its U+0000, and with U+FFFD in place of bytes that are not UTF-8.
func storableText(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
}
