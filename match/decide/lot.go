package decide

// lot is a small generator of random numbers (SplitMix64) whose results are part of what replays: unlike those of a
// library they never change.
type lot uint64

func (r *lot) nextNumber() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *lot) drawBelow(n int) int { return int(r.nextNumber() % uint64(n)) } // n is small: the bias is nothing

// newLot returns the lot of a match, which depends on its anchor and on the engine's seed.
func newLot(seed uint64, anchor string) lot { return lot(seed ^ hashText(anchor)) }

// hashText is FNV-1a: always the same for the same text.
func hashText(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
