package db

// The methods named bytes estimate the memory that a waiting request takes: its texts, and the headers that point to
// them.

// headerBytes is the size of a string or slice header, rounded up.
const headerBytes = 24

func textBytes(texts ...string) (n int) {
	for _, t := range texts {
		n += headerBytes + len(t)
	}
	return n
}

// idBytesOf is the CallBytes of batches whose requests are ids.
func idBytesOf(id string) int { return textBytes(id) }
