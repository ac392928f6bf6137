package decide

// gather forms a match of more than 40 players: a search over so many has no end. It takes whoever fits, nearest first, and
// deals parties out to the emptiest team, the strongest first, so that teams are picked as in a snake draft.
func (s *search) gather() bool {
	for i := 0; s.line.players < s.plan.most; i++ {
		c := s.at(i)
		if c == nil || !s.reachable(i) {
			break
		}
		s.take(c)
	}
	for range maxGiveBack {
		if s.complete() {
			return true
		}
		if len(s.line.picks) == 1 {
			return false
		}
		s.line.pop()
	}
	return false
}

// maxGiveBack is how many of the last tickets a large match gives back, for a size that its teams can have.
const maxGiveBack = 16
