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
	k := keeper{isFree: free, backfills: backfills, tickets: map[string]bool{}, filled: map[string]bool{}}
	verdicts := make([]Verdict, len(claims))
	for i, c := range claims {
		if verdicts[i] = k.decide(c); verdicts[i] == Kept {
			k.take(c)
		}
	}
	return verdicts
}

// keeper tracks the tickets and backfills that the kept matches use.
type keeper struct {
	isFree    func(ticket string) bool
	backfills map[string]int64
	tickets   map[string]bool // used by a kept match
	filled    map[string]bool // backfills used by a kept match
}

func (k *keeper) decide(c Claim) Verdict {
	if c.Backfill != "" {
		switch generation, exists := k.backfills[c.Backfill]; {
		case !exists:
			return BackfillGone
		case generation != c.Generation || k.filled[c.Backfill]:
			return BackfillChanged
		}
	}
	for _, id := range c.Tickets {
		if k.tickets[id] || !k.isFree(id) {
			return TicketGone
		}
	}
	return Kept
}

func (k *keeper) take(c Claim) {
	for _, id := range c.Tickets {
		k.tickets[id] = true
	}
	if c.Backfill != "" {
		k.filled[c.Backfill] = true
	}
}
