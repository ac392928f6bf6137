// Package nearest finds the known name that a misspelt one probably stands for.
package nearest

import "strings"

// Name returns the name of known with the smallest Levenshtein distance to name, the first of equals, or "" when all
// are farther away than limit. The distance is the number of bytes to insert, delete or replace. One comparison takes
// time in proportion to the product of both lengths, so the caller bounds the names and their number.
func Name(name string, known []string, limit int) string {
	return pickNearest(name, known, limit, func(s string) string { return s })
}

// Word returns the known word most similar to a mistyped one: a word that begins with it, or else the one with the
// smallest distance, up to a quarter of its length plus 1. It returns "" if there is none.
func Word(word string, known []string) string {
	for _, k := range known {
		if strings.HasPrefix(k, word) {
			return k
		}
	}
	return Name(word, known, len(word)/4+1)
}

// NameFold is [Name], but ignores the difference between upper and lower case.
func NameFold(name string, known []string, limit int) string {
	return pickNearest(strings.ToLower(name), known, limit, strings.ToLower)
}

func pickNearest(name string, known []string, limit int, fold func(string) string) string {
	best, least := "", limit+1
	for _, k := range known {
		if d := editDistance(name, fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of a and b in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances between what was read of a and each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
