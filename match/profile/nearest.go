package profile

import "github.com/lattice-director/director/internal/base/nearest"

// nearestTo returns the known word that a mistyped one was probably meant to be, or "".
func nearestTo(word string, known []string) string {
	if len(word) > 64 { // no key or word is that long, and comparing takes time with the square of the length
		return ""
	}
	return nearest.Name(word, known, len(word)/4+1)
}
