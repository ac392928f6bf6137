package cli

import "github.com/lattice-director/director/internal/base/nearest"

// Nearest returns the known word most similar to a mistyped one, or "".
func Nearest(word string, known []string) string { return nearest.Word(word, known) }
