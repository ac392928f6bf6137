package lobby

import "cmp"

// primaryOrder is printable ASCII by primary weight in the root collation of CLDR, which en-US has. Letters follow,
// regardless of case.
const primaryOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"

// primaryWeights is by character; 0: no printable ASCII.
var primaryWeights = func() (weights [256]byte) {
	for i, c := range []byte(primaryOrder) {
		weights[c] = byte(i + 1)
	}
	for i := range byte(26) {
		weights['a'+i] = byte(len(primaryOrder)) + 1 + i
		weights['A'+i] = weights['a'+i]
	}
	return weights
}()

// isPrintable reports whether a key has only characters that compareKeys knows.
func isPrintable(key string) bool {
	for i := range len(key) {
		if primaryWeights[key[i]] == 0 {
			return false
		}
	}
	return true
}

// compareKeys compares two keys of printable ASCII as localeCompare does in the locale en-US: by the primary weights,
// then by length; only if these are equal, lower case precedes upper case at the first difference. Other locales order
// even a to z in other ways.
func compareKeys(a, b string) int {
	shorter := min(len(a), len(b))
	for i := range shorter {
		if c := cmp.Compare(primaryWeights[a[i]], primaryWeights[b[i]]); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(b, a) // lower case has the higher bytes
}
