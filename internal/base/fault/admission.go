package fault

import "time"

// LoginPlace is the place of a player in a login queue.
type LoginPlace struct {
	Valve    string // that admits the players of the line
	Number   int64  // lower ones are admitted before
	Position int    // place in the line from 1 (the next one admitted); may be too high, never too low
	Waiting  int    // players in the line
	IsStaff  bool   // the place is in the line of staff
	IsClosed bool   // nobody is admitted until an operator says so
	// Estimate is nil where nobody can say when the player is admitted.
	Estimate *WaitEstimate
	AskAfter time.Duration // when asking again makes sense, for callers that do not wait for news
}

// WaitEstimate is how long a player waits, with its bounds.
type WaitEstimate struct {
	Expected time.Duration // as fast as players were admitted within the last minute
	Soonest  time.Duration // as fast as the valve admits at most
	Latest   time.Duration // 0: too few were admitted of late for a bound

	// Half and nine of ten of the players at this position waited at most so long, learned from waits that have ended.
	// Valid with IsCompared.
	P50, P90   time.Duration
	IsCompared bool // P50 and P90 are known, because estimates were compared with enough waits that have ended
}
