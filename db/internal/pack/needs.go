package pack

// Needs are the shapes and party sizes that requests ask for, with the number of parties of each.
type Needs struct {
	Modes       []string
	MaxPlayers  []int32
	PartySizes  []int32
	PartyCounts []int32
}

// AddParties counts n parties of a size.
func (k *Needs) AddParties(s Shape, size, n int) {
	for i := range k.Modes {
		if k.Modes[i] == s.Mode && int(k.MaxPlayers[i]) == s.MaxPlayers && int(k.PartySizes[i]) == size {
			k.PartyCounts[i] += int32(n)
			return
		}
	}
	k.Modes = append(k.Modes, s.Mode)
	k.MaxPlayers = append(k.MaxPlayers, int32(s.MaxPlayers))
	k.PartySizes = append(k.PartySizes, int32(size))
	k.PartyCounts = append(k.PartyCounts, int32(n))
}

// SessionCounts is how many sessions the parties need at most, row by row.
func (k *Needs) SessionCounts() []int32 {
	n := make([]int32, len(k.Modes))
	for i := range n {
		partiesPerSession := max(1, k.MaxPlayers[i]/k.PartySizes[i])
		n[i] = (k.PartyCounts[i] + partiesPerSession - 1) / partiesPerSession
	}
	return n
}

// ExtraCandidates is how many more sessions and hosts than needed the last resort reads, for each shape and party size.
const ExtraCandidates = 16
