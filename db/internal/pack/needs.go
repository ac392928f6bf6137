package pack

// Needs are the shapes and party sizes that requests ask for, with the number of parties of each.
type Needs struct {
	Modes      []string
	MaxPlayers []int32
	Sizes      []int32
	Parties    []int32
}

// Add counts n parties of a size.
func (k *Needs) Add(s Shape, size, n int) {
	for i := range k.Modes {
		if k.Modes[i] == s.Mode && int(k.MaxPlayers[i]) == s.MaxPlayers && int(k.Sizes[i]) == size {
			k.Parties[i] += int32(n)
			return
		}
	}
	k.Modes = append(k.Modes, s.Mode)
	k.MaxPlayers = append(k.MaxPlayers, int32(s.MaxPlayers))
	k.Sizes = append(k.Sizes, int32(size))
	k.Parties = append(k.Parties, int32(n))
}

// Sessions is how many sessions the parties need at most, row by row.
func (k *Needs) Sessions() []int32 {
	n := make([]int32, len(k.Modes))
	for i := range n {
		together := max(1, k.MaxPlayers[i]/k.Sizes[i])
		n[i] = (k.Parties[i] + together - 1) / together
	}
	return n
}

// ExtraCandidates is how many more sessions and hosts than needed the last resort reads, for each shape and party size.
const ExtraCandidates = 16
