package cli

import (
	"strings"

	"github.com/lattice-director/director/internal/base/nearest"
)

// Nearest returns the known word most similar to a mistyped one: a word that begins with it, or else the one with the
// smallest edit distance, up to a quarter of its length plus 1. It returns "" if there is none.
func Nearest(word string, known []string) string {
	for _, k := range known {
		if strings.HasPrefix(k, word) {
			return k
		}
	}
	return nearest.Name(word, known, len(word)/4+1)
}
