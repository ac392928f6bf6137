package cli

import "strings"

// Nearest returns the known word most similar to a mistyped one: a word that begins with it, or else the one with the smallest
// edit distance, up to a quarter of its length plus 1. It returns "" if there is none.
func Nearest(word string, known []string) string {
	best, least := "", len(word)/4+2
	for _, k := range known {
		if strings.HasPrefix(k, word) {
			return k
		}
		if d := distance(word, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance returns the Levenshtein distance: the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
