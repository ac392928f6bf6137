package match

// Claim holds the requirements of a match that an evaluator has accepted. They must be met for it to become final.
type Claim struct {
	Tickets    []string // must all be free; duplicates are allowed
	Backfill   string   // must exist; empty for none
	Generation int64    // required generation of the backfill, that from which the match was made
}

// Verdict is the decision about a match that an evaluator has accepted.
type Verdict int

// The verdicts. All but Kept are reasons why a match is dropped.
const (
	Kept               Verdict = iota
	TicketGone                 // a ticket is in another match, or no longer queued
	BackfillGone               // the backfill was deleted or has expired
	BackfillChanged            // the backfill has another generation, or another match uses it
	BackfillUnreadable         // the proposal's backfill cannot be parsed
	CallerGone                 // the caller that proposed the match has disconnected
)

var verdictNames = [...]string{"kept", "ticket_gone", "backfill_gone", "backfill_changed", "backfill_unreadable",
	"caller_gone"}

// Verdicts lists all verdicts.
func Verdicts() []Verdict {
	return []Verdict{Kept, TicketGone, BackfillGone, BackfillChanged, BackfillUnreadable, CallerGone}
}

// String returns the name of the verdict in metrics.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdictNames) {
		return "unknown"
	}
	return verdictNames[v]
}

// Keep decides which matches become final and returns a verdict for each claim. It goes through the claims in order and
// keeps a match if its requirements are met and no match kept before uses its tickets or backfill. free reports whether
// a ticket may be matched; backfills holds the generation of each existing backfill.
func Keep(claims []Claim, free func(ticket string) bool, backfills map[string]int64) []Verdict {
	k := keeper{isFree: free, generations: backfills, usedTickets: map[string]bool{}, usedBackfills: map[string]bool{}}
	verdicts := make([]Verdict, len(claims))
	for i, c := range claims {
		verdicts[i] = k.judgeClaim(c)
		if verdicts[i] == Kept {
			k.takeClaim(c)
		}
	}
	return verdicts
}

// keeper tracks the tickets and backfills that the kept matches use.
type keeper struct {
	isFree        func(ticket string) bool
	generations   map[string]int64
	usedTickets   map[string]bool // tickets of kept matches
	usedBackfills map[string]bool // backfills of kept matches
}

// judgeClaim returns whether the match of a claim is kept, beside those kept before.
func (k *keeper) judgeClaim(c Claim) Verdict {
	if c.Backfill != "" {
		generation, exists := k.generations[c.Backfill]
		if !exists {
			return BackfillGone
		}
		// A kept match that uses the backfill changes it: this match was proposed for the backfill before the change.
		if generation != c.Generation || k.usedBackfills[c.Backfill] {
			return BackfillChanged
		}
	}
	for _, id := range c.Tickets {
		if k.usedTickets[id] || !k.isFree(id) {
			return TicketGone
		}
	}
	return Kept
}

// takeClaim notes that a kept match uses its tickets and its backfill.
func (k *keeper) takeClaim(c Claim) {
	for _, id := range c.Tickets {
		k.usedTickets[id] = true
	}
	if c.Backfill != "" {
		k.usedBackfills[c.Backfill] = true
	}
}
