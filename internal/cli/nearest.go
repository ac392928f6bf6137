package cli

import "strings"

// Nearest returns the known word that a mistyped one probably means: one that begins with it, else the one with the fewest
// letters changed, if those are few; "" if there is none.
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

// distance is the number of letters to add, drop or change (Levenshtein).
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
